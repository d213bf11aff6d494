"""Flows: tasks declared by what they read, move on and change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidings.tasks as tt


def added(_: int, total: list[int], one: int) -> list[int]:
    """Add to a sum, which is changed where it lies."""
    total.append(one)
    return total


def product(_i: int, _j: int, _k: int, left: int, right: int, total: int) -> int:
    """Return what a cell of a systolic array makes of what passes it."""
    return total + left * right


def exchanged(left: int, right: int) -> tuple[int, int]:
    """Change both."""
    return right + 1, left + 1


def failing(_: int, value: int) -> int:
    """Fail."""
    raise ArithmeticError(value)


@pytest.fixture
def flow() -> Iterator[tt.Flow]:
    """Return a flow whose tasks are done by two processes."""
    with tt.Executor("memory:", workers=2) as executor:
        yield tt.Flow(executor)


def test_a_systolic_array_multiplies(flow: tt.Flow) -> None:
    """Blocks pass through the cells of an array, as Cannon has them, and each cell sums up."""
    order = 3
    block = flow.dependency_declare("block", str, int, int, int)
    cell = flow.dependency_declare("cell", int, int)
    multiply = flow.task_declare(product, int, int, int)
    multiply.append_migrate_dependency(
        block,
        lambda i, j, k: ("a", k, i, j),
        to=lambda i, j, k: ("a", k + 1, i, (j - 1) % order),
    )
    multiply.append_migrate_dependency(
        block,
        lambda i, j, k: ("b", k, i, j),
        to=lambda i, j, k: ("b", k + 1, (i - 1) % order, j),
    )
    multiply.append_inout_dependency(cell, lambda i, j, k: (i, j))
    places = [(i, j) for i in range(order) for j in range(order)]
    left = {place: 10 * place[0] + place[1] for place in places}
    right = {place: 7 * place[0] - place[1] for place in places}
    for i, j in places:
        block.put("a", 0, i, j, data=left[i, (i + j) % order])
        block.put("b", 0, i, j, data=right[(i + j) % order, j])
        cell.put(i, j, data=0)
    for k in range(order):
        for i, j in places:
            multiply.submit(i, j, k)
    for i, j in places:
        assert cell.get(i, j) == sum(left[i, k] * right[k, j] for k in range(order))


def test_whoever_reads_a_version_has_it_though_it_is_changed(flow: tt.Flow) -> None:
    """A reduction is in the order of submissions, and readers have what was there before them."""
    total = flow.dependency_declare("total")
    one = flow.dependency_declare("one", int)
    seen = flow.dependency_declare("seen", int)
    add = flow.task_declare(added, int)
    add.append_inout_dependency(total, lambda n: ())
    add.append_read_dependency(one, lambda n: (n,))
    total.put(data=[])
    for n in range(5):
        one.put(n, data=n)
        add.submit(n)
        seen.put(n, data=total.version(()))
    assert [seen.get(n) for n in range(5)] == [list(range(n + 1)) for n in range(5)]
    assert one.get(3) == 3


def test_a_task_may_change_several(flow: tt.Flow) -> None:
    """Each has its part of what the function returns."""
    side = flow.dependency_declare("side", str)
    exchange = flow.task_declare(exchanged)
    exchange.append_inout_dependency(side, lambda: ("left",))
    exchange.append_inout_dependency(side, lambda: ("right",))
    side.put("left", data=10)
    side.put("right", data=20)
    for _ in range(3):
        exchange.submit()
    assert (side.get("left"), side.get("right")) == (23, 13)


def test_what_is_taken_is_gone_and_may_be_put_again(flow: tt.Flow) -> None:
    """A migration without another key ends an instance."""
    item = flow.dependency_declare("item", int)
    use = flow.task_declare(max, int)
    use.append_migrate_dependency(item, lambda n: (n,))
    item.put(1, data=5)
    assert use.submit(1).result() == 5
    with pytest.raises(LookupError, match=r"there is no item\(1\): nothing has put it"):
        use.submit(1)
    item.put(1, data=0)
    assert use.submit(1).result() == 1


def test_those_behind_a_task_that_fails_raise_what_it_has_raised(flow: tt.Flow) -> None:
    """Nothing hangs: a version that cannot be made is an error of whoever wants it."""
    item = flow.dependency_declare("item", int)
    fail = flow.task_declare(failing, int)
    fail.append_inout_dependency(item, lambda n: (n,))
    item.put(1, data=5)
    fail.submit(1)
    fail.submit(1)
    with pytest.raises(ArithmeticError, match="5"):
        item.get(1)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("x",), TypeError, r"max is declared with \(int\), not \('x',\)"),
        ((True,), TypeError, "declared with"),
        ((1, 2), TypeError, "declared with"),
        ((2,), LookupError, r"there is no item\(2\)"),
        ((3,), ValueError, r"item\(1\) is there already: take or change it"),
        ((4,), TypeError, r"item is declared with fields \(int\), not \('4',\)"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    flow: tt.Flow, arguments: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    """An error names the dependency and what is declared; all is as it was."""
    item = flow.dependency_declare("item", int)
    move = flow.task_declare(max, int)
    move.append_migrate_dependency(
        item,
        lambda n: (str(n),) if n == 4 else (n,),
        to=lambda n: (n - 2,),
    )
    for n in (1, 3):
        item.put(n, data=n)
    with pytest.raises(error, match=text):
        move.submit(*arguments)
    assert (item.get(1), item.get(3)) == (1, 3)


def test_one_instance_is_not_taken_twice_by_one_task(flow: tt.Flow) -> None:
    """Nor do two come to one place."""
    item = flow.dependency_declare("item", int)
    twice = flow.task_declare(max)
    twice.append_inout_dependency(item, lambda: (1,))
    twice.append_migrate_dependency(item, lambda: (1,))
    together = flow.task_declare(max)
    together.append_migrate_dependency(item, lambda: (1,), to=lambda: (3,))
    together.append_migrate_dependency(item, lambda: (2,), to=lambda: (3,))
    for n in (1, 2):
        item.put(n, data=n)
    with pytest.raises(ValueError, match=r"item\(1\) is taken or changed twice at once"):
        twice.submit()
    with pytest.raises(ValueError, match=r"two come to item\(3\) at once"):
        together.submit()
    with pytest.raises(ValueError, match="item is declared already"):
        flow.dependency_declare("item")
    with pytest.raises(ValueError, match="item is declared by another flow"):
        tt.Flow().task_declare(max).append_read_dependency(item, lambda: (1,))
