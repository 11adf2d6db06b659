"""Every small change of a module that a test should notice: comparisons, boolean operators,
arithmetic, constants, left-out elements, arguments and statements, negated conditions. Prose is
left alone: docstrings, messages, annotations."""

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# `|` joins types and dictionaries here: any replacement fails immediately and proves nothing.
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
}
# For readers and type checkers: a program does the same without them.
SAID_NOT_DONE = frozenset({"description", "examples", "frozen", "help", "title"})
ONLY_TYPES = frozenset({"Annotated", "Literal", "TypeVar", "TypeAlias", "cast"})
NO_CODE = (
    ast.Import,
    ast.ImportFrom,
    ast.JoinedStr,
    ast.expr_context,
    ast.operator,
    ast.cmpop,
)


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it says, and the whole module with it."""

    file: str
    line: int
    change: str
    module: str


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """Yields all changes of one module, in the order of its lines."""
    tree = ast.parse(source)
    for owner, field, index, node in _places(tree):
        for replacement, left_out in _replacements(node):
            _put(owner, field, index, replacement)
            module = ast.unparse(tree)
            _put(owner, field, index, node)
            line: int = (left_out or node).lineno  # type: ignore[attr-defined]
            change = f"{_said(node)} -> {_said(replacement)}"
            if left_out is not None:
                change = f"without {_said(left_out)}"
            yield Mutant(file, line, change, module)


def _said(node: ast.AST) -> str:
    shown = node.test if isinstance(node, ast.If | ast.While | ast.IfExp) else node
    return " ".join(ast.unparse(shown).split())


def _put(owner: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(owner, field, node)
    else:
        getattr(owner, field)[index] = node


def _places(owner: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(owner):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or isinstance(node, NO_CODE) or _is_prose(node):
                continue
            if hasattr(node, "lineno"):
                yield owner, field, index, node
            yield from _places(node)


def _is_prose(node: ast.AST) -> bool:
    """Returns true for text that only people or type checkers read."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Constant(value=str(text)):
            return re.search(r"[a-zA-Z]\S* +\S*[a-zA-Z]", text) is not None
        case ast.keyword(arg=name, value=value):
            return name in SAID_NOT_DONE or _is_prose(value)
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)):
            return name in ONLY_TYPES
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _replacements(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Yields each replacement of a node, and the part that it leaves out, if any."""
    match node:
        case ast.Call(keywords=keywords):
            for index, keyword in enumerate(keywords):
                if keyword.arg and not _is_prose(keyword):
                    yield _changed(node, keywords=_without(keywords, index)), keyword
        case ast.Dict(keys=keys, values=values) if len(keys) > 1:
            for index, key in enumerate(keys):
                if _is_prose(values[index]):
                    continue
                left = {"keys": _without(keys, index), "values": _without(values, index)}
                yield _changed(node, **left), key or values[index]
        case ast.List(elts=elements) | ast.Set(elts=elements) if len(elements) > 1:
            for index, element in enumerate(elements):
                yield _changed(node, elts=_without(elements, index)), element
    for other in _others(node):
        yield other, None


def _others(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                other = COMPARED[type(op)]()
                yield _changed(node, ops=[*ops[:index], other, *ops[index + 1 :]])
        case ast.BoolOp(op=op):
            yield _changed(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in COMPUTED:
            yield _changed(node, op=COMPUTED[type(op)]())
        case ast.Constant(value=bool(value)):
            yield _changed(node, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield _changed(node, value=value + 1)
        case ast.Constant(value=str(value)):
            yield _changed(node, value=f"XX{value}")
        case ast.Constant(value=bytes(value)):
            yield _changed(node, value=b"XX" + value)
        case ast.Call(func=ast.Name(id="max" | "min")):
            return  # the order of what they compare does not count
        case ast.Call(args=[first, second, *rest]):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield _changed(node, args=[second, first, *rest])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp):
                yield _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=None | ast.Constant(value=None)):
            return
        case ast.Return():
            yield _changed(node, value=ast.Constant(None))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case (
            ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break()
        ):
            yield ast.Pass()


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _without(items: list[Any], index: int) -> list[Any]:
    return [*items[:index], *items[index + 1 :]]
