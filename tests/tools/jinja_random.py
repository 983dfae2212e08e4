"""Random templates for make_jinja_fixtures.py: well-formed, mostly; what they mean is the reference's
business."""
import random

SCALARS = ["text", "uni", "one", "zero", "neg", "pi", "true_", "none_", "empty", "big", "undef", "x", "y", "html", "spaces"]
LISTS = ["nums", "words", "mixed", "floats", "messages", "users", "tree", "x", "[1, 2, 3]", "[]", "('a', 'b')", "range(4)", "lines.splitlines()"]
DICTS = ["d", "nested", "messages[0]", "users[0]", "tools[0]", "d", "d", "nested", "{'k': 1, 'j': [2]}", "{}"]
CONSTANTS = ["0", "1", "2", "-1", "7", "1.5", "0.1", "1e20", "''", "'a'", "'B'", "'é漢'", "'a b'", "true", "false", "none",
             "'\\n'", "'it\\'s'", "'%s'", "'{}'", "3", "10", "-3", "2.0"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "~", "+", "==", "!=", "<", ">=", "and", "or", "in", "not in"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable",
         "odd", "even", "true", "false", "lower", "upper", "callable", "divisibleby 2", "eq 1", "in [1, 'a']", "sameas none",
         "not defined", "not string", "ge 1"]
FILTERS = ["upper", "lower", "title", "capitalize", "length", "first", "last", "list", "string", "int", "float", "abs", "round",
           "round(1)", "trim", "join", "join(',')", "sort", "sort(reverse=true)", "unique|list", "reverse|list", "sum", "min",
           "max", "tojson", "tojson(indent=2)", "default('D')", "default('D', true)", "replace('a', 'Q')", "indent(2)", "wordcount",
           "truncate(6)", "center(9)", "items|list", "dictsort", "batch(2)|list", "slice(2)|list", "map('string')|list",
           "map('upper')|join('-')", "map(attribute='name')|list", "select|list", "reject|list", "select('string')|list",
           "selectattr('role')|list|length", "groupby('age')|length", "escape", "urlencode", "reverse", "string|length",
           "map('length')|list", "tojson(sort_keys=true)", "sort|first", "map('default', 'z')|list", "attr('upper')", "count",
           "list|tojson", "string|upper", "striptags", "e", "format(1)", "safe"]
METHODS = ["upper()", "lower()", "strip()", "split()", "split('l')", "split('l', 1)", "rsplit(' ', 1)", "splitlines()",
           "startswith('H')", "endswith('d')", "replace('l', 'L')", "find('o')", "count('l')", "title()", "capitalize()",
           "items()|list", "keys()|list", "values()|list", "get('a')", "get('zz', 5)", "role", "content", "name", "a", "zz",
           "lstrip('He')", "rstrip()", "isdigit()", "isupper()", "join(['p', 'q'])", "zfill(6)", "removeprefix('He')",
           "partition(',')", "center(8, '*')", "index(1)", "copy()", "swapcase()", "function", "0", "1"]
TEXTS = ["", " ", "\n", "  \n", "a", "b\n", "\n  ", "  c  ", "\n\n", "é\n", "\t"]
SLICES = ["[0]", "[-1]", "[1:]", "[:2]", "[::-1]", "[1:3]", "[::2]", "[-2:]", "['a']", "['role']", "[5]", "[:-1]", "[x]"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, values):
        return self.random.choice(values)

    def atom(self):
        return self.pick([SCALARS, LISTS, DICTS, CONSTANTS, CONSTANTS][self.random.randrange(5)])

    def expression(self, depth):
        if depth <= 0:
            return self.atom()
        kind = self.random.randrange(14)
        inner = lambda: self.expression(depth - 1)
        if kind < 3:
            return f"{inner()} {self.pick(BINARY)} {inner()}"
        if kind == 3:
            return f"({inner()})"
        if kind < 7:
            return f"{self.pick([inner, self.atom])()}|{self.pick(FILTERS)}"
        if kind == 7:
            return f"{self.atom()}.{self.pick(METHODS)}"
        if kind == 8:
            # Of constants Jinja takes slices while it compiles, by other rules.
            return f"({self.pick([SCALARS, LISTS, DICTS][self.random.randrange(3)][:8])}){self.pick(SLICES)}"
        if kind == 9:
            return f"{inner()} is {self.pick(TESTS)}"
        if kind == 10:
            return f"{inner()} if {inner()} else {inner()}"
        if kind == 11:
            return f"[{inner()}, {inner()}]"
        if kind == 12:
            return self.pick(["not ", "-", "+"]) + inner()
        return f"{{'p': {inner()}, {self.pick(CONSTANTS)}: {inner()}}}"

    def open(self):
        return "{%" + self.pick(["", "", "", "-", "+"]) + " "

    def close(self):
        return " " + self.pick(["", "", "", "-", "+"]) + "%}"

    def tag(self, text):
        return self.open() + text + self.close()

    def output(self):
        return "{{" + self.pick(["", "", "-"]) + " " + self.expression(self.random.randrange(4)) + " " + self.pick(["", "", "-"]) + "}}"

    def body(self, depth):
        parts = [self.pick(TEXTS)]
        for _ in range(self.random.randrange(1, 4)):
            parts.append(self.statement(depth))
            parts.append(self.pick(TEXTS))
        return "".join(parts)

    def statement(self, depth):
        kind = self.random.randrange(15) if depth > 0 else self.random.randrange(5)
        name = self.pick("xyz")
        if kind < 3:
            return self.output()
        if kind == 3:
            return self.tag(f"set {name} = {self.expression(2)}")
        if kind == 4:
            return "{#" + self.pick(["", "-", "+"]) + " c " + self.pick(["", "-", "+"]) + "#}"
        inner = lambda: self.body(depth - 1)
        if kind < 7:
            text = self.tag(f"if {self.expression(2)}") + inner()
            if self.random.randrange(3) == 0:
                text += self.tag(f"elif {self.expression(1)}") + inner()
            if self.random.randrange(2):
                text += self.tag("else") + inner()
            return text + self.tag("endif")
        if kind < 10:
            target = self.pick(["x", "y", "i", "i", "i, j"])
            condition = self.pick(["", "", "", f" if {self.expression(1)}"])
            text = self.tag(f"for {target} in {self.pick(LISTS)}{condition}") + self.loop_part() + inner()
            if self.random.randrange(4) == 0:
                text += self.tag("if " + self.expression(1)) + self.tag(self.pick(["break", "continue"])) + self.tag("endif")
            if self.random.randrange(4) == 0:
                text += self.tag("else") + inner()
            return text + self.tag("endfor")
        if kind == 10:
            return self.tag(f"set {name}{self.pick(['', ' | upper', ' | trim'])}") + inner() + self.tag("endset")
        if kind == 11:
            return self.tag(f"with {name} = {self.expression(1)}") + inner() + self.tag("endwith")
        if kind == 12:
            call = self.pick(["m(1)", "m()", "m(1, 2)", "m(b=x)", "m(a=y, b=1)"])
            return (self.tag("macro m(a, b=" + self.expression(1) + ")") + "{{ a }}" + self.pick(["", "{{ b }}", "{{ x }}", "{{ varargs }}"])
                    + inner() + self.tag("endmacro") + "{{ " + call + " }}")
        if kind == 13:
            return self.tag("filter " + self.pick(["upper", "trim", "replace('a', 'b')", "length", "indent"])) + inner() + self.tag("endfilter")
        return self.tag("generation") + inner() + self.tag("endgeneration")

    def loop_part(self):
        return self.pick(["", "", "{{ loop.index }}", "{{ loop.last }}", "{{ loop.revindex }}", "{{ i }}", "{{ loop.cycle('p', 'q') }}",
                          "{{ loop.previtem }}", "{{ loop.nextitem }}", "{{ loop.changed(i) }}", "{{ loop.length }}"])

    def template(self):
        if self.random.randrange(3) == 0:
            return "{{ " + self.expression(4) + " }}"
        return self.body(3)
