"""Enough of PromQL to know which labels the result of a query has.

`parse` gives a tree of nodes with the place of each in the text. `labels` follows the label sets through it and refuses
a query that names a metric or a label that is not there, or that matches two sides which can never match: in Prometheus
such a query is valid, and empty for ever.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<duration>\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdwy]))*)
      | (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<variable>\$\w+|\$\{\w+\})
      | (?P<name>[a-zA-Z_:][\w:]*)
      | (?P<op>==|!=|=~|!~|>=|<=|[-+*/%^<>=(){}\[\],:@])""",
    re.VERBOSE,
)
AGGREGATIONS = "sum min max avg count quantile topk bottomk".split()
FUNCTIONS = """rate increase delta abs time vector scalar absent histogram_quantile
    avg_over_time min_over_time max_over_time""".split()
PRECEDENCE = [["or"], ["and", "unless"], ["==", "!=", ">", "<", ">=", "<="], ["+", "-"], ["*", "/", "%"], ["^"]]
SETS = ("and", "or", "unless")


class QueryError(ValueError):
    pass


@dataclass
class Node:
    kind: str  # selector, range, aggregation, call, binary, number, string
    start: int
    end: int = 0
    name: str = ""  # of the metric, function, aggregation or operator
    children: list = field(default_factory=list)
    matchers: list = field(default_factory=list)  # (label, operator, value, start, end)
    by: list = None  # labels of by(), None without one
    without: list = None
    on: list = None
    ignoring: list = None
    group: str = ""  # group_left or group_right
    include: list = field(default_factory=list)
    is_bool: bool = False
    place: tuple = (0, 0)  # of the operator, or of the labels in by(): where a mutation writes

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


class Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise QueryError(f"{text[at:at + 20]!r} cannot be read in: {text}")
            if match.lastgroup != "space":
                self.tokens.append((match.lastgroup, match.group(), match.start(), match.end()))
            at = match.end()
        self.tokens.append(("end", "", at, at))
        self.index = 0

    def peek(self, *texts):
        return self.tokens[self.index][1] in texts and self.tokens[self.index][0] != "string"

    def next(self):
        token = self.tokens[self.index]
        self.index += 1
        return token

    def expect(self, text):
        token = self.next()
        if token[1] != text:
            raise QueryError(f"expected {text!r} before {self.text[token[2]:token[2] + 20]!r} in: {self.text}")
        return token

    def last_end(self):
        return self.tokens[self.index - 1][3]

    def names(self):
        """A list of labels in parentheses."""
        self.expect("(")
        found = []
        while not self.peek(")"):
            found.append(self.next()[1])
            if not self.peek(")"):
                self.expect(",")
        self.expect(")")
        return found

    def expression(self, level=0):
        if level == len(PRECEDENCE):
            return self.postfix()
        start = self.tokens[self.index][2]
        left = self.expression(level + 1)
        while self.peek(*PRECEDENCE[level]):
            operator = self.next()
            node = Node("binary", start, name=operator[1], place=operator[2:4])
            if self.peek("bool"):
                self.next()
                node.is_bool = True
            if self.peek("on", "ignoring"):
                how = self.next()[1]
                setattr(node, how, self.names())
                if self.peek("group_left", "group_right"):
                    node.group = self.next()[1]
                    if self.peek("("):
                        node.include = self.names()
            node.children = [left, self.expression(level + 1)]
            node.end = self.last_end()
            left = node
        return left

    def postfix(self):
        node = self.primary()
        while self.peek("[", "offset", "@"):
            what = self.next()[1]
            if what == "[":
                node = Node("range", node.start, children=[node])
                while not self.peek("]"):
                    self.next()
                self.expect("]")
            elif what == "@":
                self.next()
                if self.peek("("):
                    self.names()
            else:
                self.next()
            node.end = self.last_end()
        return node

    def primary(self):
        kind, text, start, end = self.tokens[self.index]
        if text == "-":
            self.next()
            return self.postfix()
        if text == "(":
            self.next()
            node = self.expression()
            self.expect(")")
            return node
        if text == "{":
            raise QueryError(f"a selector without a name in: {self.text}")
        self.next()
        if kind in ("number", "string"):
            return Node(kind, start, end, text)
        if kind != "name":
            raise QueryError(f"unexpected {text!r} in: {self.text}")
        if text in AGGREGATIONS:
            return self.aggregation(text, start)
        if self.peek("("):
            if text not in FUNCTIONS:
                raise QueryError(f"unknown function {text} in: {self.text}")
            return self.call(Node("call", start, name=text))
        return self.selector(text, start)

    def call(self, node):
        self.expect("(")
        while not self.peek(")"):
            node.children.append(self.expression())
            if not self.peek(")"):
                self.expect(",")
        self.expect(")")
        node.end = self.last_end()
        return node

    def grouping(self, node):
        if self.peek("by", "without"):
            how = self.next()[1]
            start = self.tokens[self.index][2]
            setattr(node, how, self.names())
            node.place = (start, self.last_end())

    def aggregation(self, name, start):
        node = Node("aggregation", start, name=name)
        self.grouping(node)
        self.call(node)
        self.grouping(node)
        node.end = self.last_end()
        return node

    def selector(self, name, start):
        node = Node("selector", start, name=name)
        if self.peek("{"):
            self.next()
            while not self.peek("}"):
                label = self.next()
                operator = self.next()
                value = self.next()
                if operator[1] not in ("=", "!=", "=~", "!~") or value[0] != "string":
                    raise QueryError(f"not a matcher at {label[1]!r} in: {self.text}")
                node.matchers.append((label[1], operator[1], value[1][1:-1], label[2], value[3]))
                if not self.peek("}"):
                    self.expect(",")
            self.expect("}")
        node.end = self.last_end()
        return node


def parse(text):
    parser = Parser(text)
    node = parser.expression()
    if parser.tokens[parser.index][0] != "end":
        raise QueryError(f"more than one expression in: {text}")
    return node


def selectors(node):
    return [each for each in node.walk() if each.kind == "selector"]


def labels(node, catalogue):
    """The labels of the result: a set, None when any may be there, or "scalar"."""

    def need(wanted, there, what):
        if there is not None and not set(wanted) <= there:
            raise QueryError(f"{what} has no label {', '.join(sorted(set(wanted) - there))}")

    def vector(side):
        return side != "scalar"

    if node.kind in ("number", "string"):
        return "scalar"
    if node.kind == "selector":
        if node.name not in catalogue:
            raise QueryError(f"unknown metric {node.name}")
        there = catalogue.labels(node.name)
        need([matcher[0] for matcher in node.matchers], there, node.name)
        return there
    if node.kind == "range":
        return labels(node.children[0], catalogue)
    sides = [labels(child, catalogue) for child in node.children]
    if node.kind == "call":
        if node.name in ("time", "scalar"):
            return "scalar"
        if node.name == "vector":
            return set()
        if node.name == "absent":
            return {label for label, operator, *_ in node.children[0].matchers if operator == "="}
        there = next((side for side in sides if vector(side)), set())
        if node.name == "histogram_quantile" and there is not None:
            need(["le"], there, "the argument of histogram_quantile")
            return there - {"le"}
        return there
    if node.kind == "aggregation":
        there = sides[-1]
        wanted = node.by if node.by is not None else node.without
        need(wanted or [], there, f"the argument of {node.name}")
        if node.name in ("topk", "bottomk"):
            return there
        if node.without is not None:
            return None if there is None else there - set(node.without)
        return set(node.by or [])
    left, right = sides
    if not vector(left) or not vector(right):
        return right if not vector(left) else left
    if node.on is None and node.ignoring is None and node.name != "or" and None not in (left, right) and left != right:
        raise QueryError(f"the sides of {node.name} never match: {sorted(left)} and {sorted(right)}")
    for side, there in (("left", left), ("right", right)):
        need(node.on or [], there, f"the {side} side of {node.name}")
    if node.ignoring is not None and None not in (left, right):
        one, other = left - set(node.ignoring), right - set(node.ignoring)
        if one != other:
            raise QueryError(f"the sides of {node.name} never match: {sorted(one)} and {sorted(other)}")
    if node.name == "or":
        return None if None in (left, right) else left | right
    if node.name in SETS:
        return left
    if node.group == "group_left":
        need(node.include, right, f"the right side of {node.name}")
        return None if left is None else left | set(node.include)
    if node.group == "group_right":
        return None if right is None else right | set(node.include)
    if node.on is not None:
        return set(node.on)
    return None if left is None else left - set(node.ignoring or [])


def check(text, catalogue):
    """The labels of the result of `text`; throws QueryError with the text in it."""
    try:
        return labels(parse(text), catalogue)
    except QueryError as error:
        raise QueryError(f"{error}\n  in the query: {text}") from None
