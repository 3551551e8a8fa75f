"""Which SQL may be run for somebody else: a statement is judged by its parsed tree, against lists of what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headcount_collector.store.errors import StoreError

_NODES = frozenset(
    """
    SelectWithUnionQuery SelectIntersectExceptQuery SelectQuery ExpressionList Literal Function Identifier
    TablesInSelectQuery TablesInSelectQueryElement TableExpression TableIdentifier TableJoin ArrayJoin Subquery
    WithElement Asterisk QualifiedAsterisk ColumnsRegexpMatcher ColumnsListMatcher QualifiedColumnsRegexpMatcher
    QualifiedColumnsListMatcher ColumnsTransformerList ColumnsExceptTransformer ColumnsReplaceTransformer
    ColumnsReplaceTransformer::Replacement OrderByElement WindowDefinition WindowListElement SampleRatio
    InterpolateElement
    """.split()
)
_ROOTS = frozenset(
    {"SelectWithUnionQuery", "SelectIntersectExceptQuery", "SelectQuery", "DescribeQuery", "ShowTables"}
)
_CATEGORIES = frozenset(
    name.strip()
    for name in (
        "Aggregate Functions, Type Conversion, Dates and Times, Arrays, String, Hash, String Search, JSON, "
        "Mathematical, URL, Arithmetic, Map, IP Address, Comparison, Tuple, Distance, Bitmap, Bit, Encoding, UUID, "
        "String Splitting, String Replacement, Null, Rounding, Time Window, Conditional, Logical, Financial"
    ).split(",")
)
_MORE = frozenset(
    """
    lambda _cast nested exists casewithexpression casewithoutexpression identity ignore materialize totypename
    tocolumntypename bar transform runningdifference neighbor runningaccumulate rownumberinallblocks rownumberinblock
    finalizeaggregation formatreadablesize formatreadabledecimalsize formatreadablequantity formatreadabletimedelta
    countdigits getsubcolumn throwif version revision displayname currentdatabase database current_database timezone
    servertimezone uptime currentuser user timezoneof timezoneoffset totimezone tostartoffiveminute row_number rank
    dense_rank percent_rank cume_dist ntile lag lead laginframe leadinframe first_value last_value nth_value grouping
    numbers sqlstandardvalues values generateseries generate_series
    """.split()
)
_NEVER = frozenset({"chdb"})
_COMBINATORS = "simplestate ordefault distinct resample foreach argmax argmin ornull tuple merge state array null map if".split()
_SYSTEM_TABLES = frozenset(
    "tables columns databases functions one numbers settings table_engines formats data_type_families keywords".split()
)
_LINE = re.compile(r"( *)([A-Za-z_:]+)(?: (.*))?")
_NOTES = re.compile(r"(?: \(alias .*\))?(?: \(children \d+\))?$", re.DOTALL)
_LONGEST = 256 * 1024


class StatementRefused(StoreError):
    """SQL that is not run here."""

    def __init__(self, message: str, code: int = 497) -> None:
        super().__init__(message, code=code)  # 497 ACCESS_DENIED


@dataclass(frozen=True, slots=True)
class Node:
    """One line of EXPLAIN AST."""

    depth: int
    kind: str
    says: str


class Allowed:
    """What a statement may name: the functions of this engine by category, and tables of one database."""

    def __init__(self, database: str, functions: list[tuple[str, str, str, bool]]) -> None:
        """`functions`: name, category, canonical name of an alias, is aggregate; as in system.functions."""
        self._database = database
        names = {name.lower() for name, category, _, _ in functions if category in _CATEGORIES}
        names |= {name.lower() for name, _, _, aggregate in functions if aggregate}
        names |= {
            name.lower() for name, _, canonical, _ in functions if canonical and canonical.lower() in names
        }
        self._functions = (names | _MORE) - _NEVER
        self._aggregates = {name.lower() for name, _, _, aggregate in functions if aggregate}

    def check(self, tree: list[str]) -> None:
        """Raise StatementRefused unless everything in the lines of an EXPLAIN AST is allowed."""
        nodes = [_node(line) for line in tree]
        if not nodes or nodes[0].depth or nodes[0].kind not in _ROOTS:
            raise StatementRefused("only SELECT, SHOW TABLES, SHOW DATABASES and DESCRIBE TABLE are run here")
        path: list[Node] = []
        for number, node in enumerate(nodes):
            del path[node.depth :]
            if number and not node.depth:
                raise StatementRefused("one statement at a time is run here")
            if number and node.kind not in _NODES:
                raise StatementRefused(f"{node.kind} is not allowed here")
            if node.depth == 1 and node.kind == "Literal" and nodes[0].kind != "SelectQuery":
                raise StatementRefused("INTO OUTFILE is not allowed here")
            self._check_names(node, nodes, number)
            path.append(node)

    def _check_names(self, node: Node, nodes: list[Node], number: int) -> None:
        match node.kind:
            case "Function":
                self._check_function(node.says)
                if node.says.lower().removeprefix("global") in ("in", "notin", "nullin", "notnullin"):
                    self._check_set(nodes, number)
            case "TableIdentifier":
                self._check_table(node.says)
            case "Identifier" if nodes[0].kind == "ShowTables" and node.says not in (
                self._database,
                "Native",
            ):
                raise StatementRefused(f"tables of {self._database} are shown here, not of {node.says}")

    def _check_function(self, name: str) -> None:
        plain = name.lower()
        if plain in self._functions:
            return
        if any(plain == stem for stem in self._stems(plain)):
            return
        raise StatementRefused(f"the function {name} is not allowed here")

    def _stems(self, name: str) -> Iterator[str]:
        """Yield `name` if it is an aggregate function with combinators behind it."""
        rest, cut = name, True
        while cut:
            if rest in self._aggregates:
                yield name
            cut = False
            for combinator in _COMBINATORS:
                if rest.endswith(combinator) and len(rest) > len(combinator):
                    rest, cut = rest.removesuffix(combinator), True
                    break

    def _check_set(self, nodes: list[Node], number: int) -> None:
        """The right side of IN may be a table by its bare name."""
        depth = nodes[number].depth + 2
        arguments = []
        for node in nodes[number + 1 :]:
            if node.depth < depth - 1:
                break
            if node.depth == depth:
                arguments.append(node)
        for argument in arguments[1:]:
            if argument.kind == "Identifier":
                self._check_table(argument.says)

    def _check_table(self, name: str) -> None:
        database, dot, table = name.partition(".")
        if not dot or (database == self._database and "." not in table):
            return
        if database == "system" and table in _SYSTEM_TABLES:
            return
        raise StatementRefused(
            f"the table {name} is not shown here: it holds {self._database}, and parts of system"
        )


def single_statement(sql: str) -> str:
    """Return the text without what may stand at its end. Raises StatementRefused for what cannot be one statement.

    The engine runs what follows a semicolon, so there may be none, not even where it would be harmless.
    """
    text = sql.strip().rstrip(";").rstrip()
    if not text:
        raise StatementRefused("the query is empty", 62)
    if len(text) > _LONGEST:
        raise StatementRefused(f"the query is longer than {_LONGEST} characters", 62)
    if ";" in text or "\0" in text:
        raise StatementRefused("a semicolon may only stand at the end; inside a text write char(59)", 62)
    return text


def _node(line: str) -> Node:
    if (found := _LINE.fullmatch(line, 0)) is None:
        raise StatementRefused(f"the query has a part that is not understood: {line[:80]!r}")
    return Node(len(found[1]), found[2], _NOTES.sub("", f" {found[3] or ''}").strip())
