"""The examples in docstrings, and the stubs."""

import ast
import doctest
import pathlib

import gcn
import gcn._compile
import gcn._display
import gcn._error
import gcn._record
import pytest

MODULES = [gcn, gcn._compile, gcn._display, gcn._error, gcn._record]


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in MODULES:
        yield from finder.find(module, module.__name__, module=module, extraglobs={})
    # Classes and functions of the native module, which the finder takes for foreign.
    parser = doctest.DocTestParser()
    for name in dir(gcn._gcn):
        thing = getattr(gcn._gcn, name)
        members = [(name, thing)] + [(f"{name}.{m}", getattr(thing, m)) for m in (dir(thing) if isinstance(thing, type) else [])]
        for full, member in members:
            text = getattr(member, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield parser.get_doctest(text, {}, full, None, None)


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name) for e in examples() if e.examples])
def test_example(example, request):
    if "compile" in example.name:
        request.getfixturevalue("clang")
    example.globs.setdefault("gcn", gcn)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example).failed == 0


def test_stubs_name_everything_public():
    stub = pathlib.Path(gcn.__file__).with_name("__init__.pyi")
    tree = ast.parse(stub.read_text())
    named = {n.name for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    named |= {n.target.id for n in ast.walk(tree) if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    named |= {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    assert set(gcn.__all__) - named == set()
    classes = {n.name: {m.name for m in ast.walk(n) if isinstance(m, ast.FunctionDef)} | {m.target.id for m in n.body if isinstance(m, ast.AnnAssign)}
               for n in tree.body if isinstance(n, ast.ClassDef)}
    for name, members in classes.items():
        thing = getattr(gcn, name)
        if thing.__module__ != "gcn":
            continue
        own = {m for m in vars(thing) if not m.startswith("__")}
        assert own - members == set(), name
