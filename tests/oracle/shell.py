"""A running `gristmill local`, driven statement by statement over its standard input."""
import os
import re
import subprocess

END = "--end-of-answer--"


class Refused(Exception):
    """A statement failed; the text is what was printed."""

    def code(self):
        """ClickHouse's error number; 0 when none was printed."""
        found = re.search(r"Code: (\d+)\.", str(self))
        return int(found.group(1)) if found else 0


class Shell:
    def __init__(self, binary, path=None, settings=(), goes_on=False):
        """With `goes_on` a failed statement raises and the next one may be sent; otherwise the process ends with it."""
        command = [binary, "local", "--format", "TabSeparated"] + (["--ignore-error"] if goes_on else [])
        if path:
            command += ["--path", str(path)]
        self.goes_on = goes_on
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
            encoding="utf-8", errors="replace"
        )
        if goes_on:
            os.set_blocking(self.process.stderr.fileno(), False)
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
                self.raise_error()
                return rows
            rows.append(line.split("\t"))
        raise Refused(self.said() if self.goes_on else self.process.stderr.read())

    def raise_error(self):
        """An error stands on standard error before the marker stands on standard output."""
        said = self.said() if self.goes_on else ""
        if "DB::Exception" in said:
            raise Refused(said)

    def said(self):
        pieces = []
        while True:
            try:
                piece = os.read(self.process.stderr.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not piece:
                break
            pieces.append(piece)
        return b"".join(pieces).decode(errors="replace")

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
