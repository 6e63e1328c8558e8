"""A running `gristmill local`, driven statement by statement over its standard input."""
import subprocess

END = "--end-of-answer--"


class Refused(Exception):
    """A statement failed; the text is what was printed."""


class Shell:
    def __init__(self, binary, path=None, settings=()):
        command = [binary, "local", "--format", "TabSeparated"]
        if path:
            command += ["--path", str(path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        for name, value in settings:
            self.query(f"SET {name} = {value}")

    def send(self, sql):
        """Sends a statement and a marker behind it; `answer` reads up to the marker."""
        self.process.stdin.write(f"{sql};\nSELECT '{END}';\n")
        self.process.stdin.flush()

    def answer(self):
        rows = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == END:
                return rows
            rows.append(line.split("\t"))
        raise Refused(self.process.stderr.read())

    def query(self, sql):
        self.send(sql)
        return self.answer()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        return self.process.returncode
