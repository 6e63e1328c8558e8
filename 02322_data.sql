INSERT INTO table (`number`, `modulo(number, 3)`, `'Hello'`) VALUES (0, 0, 'Hello'), (1, 1, 'Hello');
INSERT INTO table (`number`, `modulo(number, 3)`, `'Hello'`) VALUES (2, 2, 'Hello'), (3, 0, 'Hello');
INSERT INTO table (`number`, `modulo(number, 3)`, `'Hello'`) VALUES (4, 1, 'Hello');
