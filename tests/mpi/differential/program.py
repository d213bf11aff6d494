"""Makes a program that calls every function which takes a communicator, group, window or file.

The functions are those of one MPI's mpi.h. Each is called under both of its names, with arguments
by its recipe, and its result is printed so that runs can be compared. A function that has no
recipe and is not omitted with a reason is an error.

usage: python3 program.py MPICC SOURCE.c    (mpi/shim on PYTHONPATH; prints what is covered as JSON)
"""

import json
import re
import sys

import header
import recipes


# Requests whose status says who sent what; that of others is not defined.
RECEIVING = re.compile(r"recv")


class Uncallable(Exception):
    """A function for which no call can be made."""


def argument(function, parameter, recipe, counters):
    """Return the expression for a parameter, and the statement that prints the result."""
    stated = recipe.arguments.get(parameter.name)
    if stated is not None:
        return filled_in(stated, parameter), ""
    for kind, name, expression in recipes.ARGUMENTS:
        if parameter.type in kind.split("|") and re.fullmatch(name, parameter.name):
            tells = expression == "got" and parameter.name not in recipe.silent
            return expression, 'say_buffer("got", got);' if tells else ""
    for kind, expression, tells in recipes.RESULTS:
        if parameter.type == kind or (kind, parameter.type) == ("char*", "char[]"):
            at = counters[kind] = counters.get(kind, -1) + 1
            tells = "" if parameter.name in recipe.silent else tells
            name = parameter.name.removeprefix("unnamed")
            return expression.format(at), tells.replace("{0}", str(at)).replace("{1}", name)
    raise Uncallable(f"{function.name}: nothing is known for {parameter.type} {parameter.name}")


def filled_in(expression, parameter):
    """Put what depends on the type into a stated argument."""
    large = "MPI_Aint" in parameter.type
    number = "large[0]" if parameter.type == "MPI_Count*" else "numbers[0]"
    return expression.format(byte="large_byte_" if large else "byte_", number=number)


def completion(name):
    """Return how the request that a function gave is brought to its end."""
    if re.match(r"MPI_P(send|recv)_init", name):
        return ""
    if name.removesuffix("_c").endswith("_init"):
        return "MPI_Start(&request); MPI_Wait(&request, &status); MPI_Request_free(&request);"
    return "MPI_Wait(&request, &status);"


def call(function, name, recipe):
    """Return the block of C that calls a function by one of its names."""
    counters = {}
    made = [argument(function, taken, recipe, counters) for taken in function.parameters]
    tells = [tell for _, tell in made if tell]
    expression = f"code = {name}({', '.join(expression for expression, _ in made)});"
    if recipe.until:
        expression = f"do {expression} while (!{recipe.until});"
    ends = completion(function.name) if function.takes("MPI_Request*") else ""
    if "File_" in name:
        # Of a status that a file call gave only the count is defined.
        tells = [tell.replace("say_status", "say_count") for tell in tells]
    elif ends and RECEIVING.search(name):
        tells.append("say_status();")
    lines = [
        f'clear(); fprintf(out, "{name}");',
        recipe.before,
        expression,
        "say_class();",
        f"if (code == MPI_SUCCESS) {{ {ends} {' '.join(tells)} }}",
        recipe.after,
        'fputc(\'\\n\', out);',
    ]
    return "\n    ".join(line for line in lines if line)


def refusal(function, name, recipe):
    """Return the block that calls a function with a world that it must reject."""
    arguments = {
        parameter.name: recipes.WORLD
        for parameter in function.parameters
        if parameter.type == "MPI_Comm"
    }
    refused = recipe._replace(arguments=recipe.arguments | arguments, before="", after="")
    return call(function, name, refused).replace(f'"{name}"', f'"{name} of the world"')


def conversion(function, name):
    """Return the block that turns a handle into a number and back."""
    kind = recipes.CONVERSIONS.match(function.name)["kind"]
    handle = {"Comm": recipes.WORLD, "Group": "world_group", "Win": "window", "File": "file"}[kind]
    back, forth = ("f2c", "c2f") if "2" in function.name.split("_")[-1] else ("fromint", "toint")
    prefix = name[: name.index("MPI_")]
    there = f"{prefix}MPI_{kind}_{forth}({handle})"
    same = f"{prefix}MPI_{kind}_{back}({there}) == {handle}"
    return f'fprintf(out, "{name} same=%d\\n", {same});'


def blocks(function):
    """Return the blocks of C for a function."""
    names = (function.name, f"P{function.name}")
    if recipes.CONVERSIONS.match(function.name):
        return [conversion(function, name) for name in names]
    recipe = recipes.recipe_of(function.name)
    if recipe is None:
        raise Uncallable(f"{function.name}: no recipe")
    made = [call(function, name, recipe) for name in names]
    if recipe.refuses_world:
        made += [refusal(function, name, recipe) for name in names]
    return made


def with_world(function, made):
    """Whether MPI_COMM_WORLD itself is among the arguments of a call."""
    pattern = rf"= {function.name}\([^;]*{recipes.WORLD}"
    return any(re.search(pattern, block) for block in made)


def write(path, called):
    """Write the program: a function of C for each function of MPI, called in turn."""
    with open(path, "w", encoding="utf-8") as source:
        source.write('/* Made by program.py: do not edit. */\n#include "calls.h"\n')
        for name, made in called.items():
            body = "".join(f"    {{\n    {block}\n    }}\n" for block in made)
            source.write(f"\nstatic void call_{name}(void)\n{{\n{body}}}\n")
        calls = "".join(f"    call_{name}();\n" for name in called)
        source.write(
            "\nint main(int count, char **words)\n{\n    prepare(&count, &words);\n"
            f"{calls}    finish();\n    return 0;\n}}\n"
        )


def main():
    """Write the program, and to standard output what it covers."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    called, left_out, wrong, not_of_world = {}, {}, [], []
    for function in header.functions(sys.argv[1]):
        if not (function.takes(*recipes.SUBJECTS) or recipes.CONVERSIONS.match(function.name)):
            continue
        if function.name in recipes.LEFT_OUT:
            left_out[function.name] = recipes.LEFT_OUT[function.name]
            continue
        try:
            called[function.name] = blocks(function)
        except Uncallable as reason:
            wrong.append(str(reason))
            continue
        if function.takes("MPI_Comm") and not with_world(function, called[function.name]):
            not_of_world.append(function.name)
    if wrong:
        sys.exit("\n".join(wrong))
    write(sys.argv[2], called)
    covered = {"called": list(called), "left_out": left_out, "never_with_world": not_of_world}
    json.dump(covered, sys.stdout)


if __name__ == "__main__":
    main()
