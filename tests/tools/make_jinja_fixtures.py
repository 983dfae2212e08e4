#!/usr/bin/env python3
"""Makes tests/model/tokenizer/fixtures/jinja: templates and what the reference makes of them.

    pip install -r tests/tools/requirements-jinja.txt
    tests/tools/make_jinja_fixtures.py --out tests/model/tokenizer/fixtures/jinja

The reference is Jinja2 as transformers sets it up for chat templates (transformers' own function is
called for that). constructs.json holds the templates of jinja_cases.py, random.json as many random ones
as --random says. Each file is {"variables": {...}, "cases": [...]}; a case is [template, text], or
[template, null] where the reference fails, or [template, null, message] where the template calls
raise_exception. --seed and --random make other random cases, for a longer comparison.
"""
import argparse
import copy
import datetime
import json
import pathlib
import signal

import jinja2
from transformers.utils import chat_template_utils

import jinja_cases
import jinja_random

NOW = datetime.datetime(2026, 11, 21, 12, 0, 0)
SECONDS_A_TEMPLATE = 5
LARGEST_TEXT = 20000


def compile_template(source):
    template = chat_template_utils._compile_jinja_template(source)
    template.environment.globals["strftime_now"] = NOW.strftime
    return template


def render(source, variables):
    """[source, text], [source, None] or [source, None, message]; None if no other renderer can agree."""
    try:
        text = compile_template(source).render(**copy.deepcopy(variables))
    except jinja2.exceptions.TemplateError as error:
        if type(error) is jinja2.exceptions.TemplateError:  # raise_exception's own
            return [source, None, str(error)]
        return [source, None]
    except TimeoutError:
        return None
    except Exception:  # whatever Python makes of a bad operation
        return [source, None]
    if " at 0x" in text or "<bound method" in text or "<built-in" in text or len(text) > LARGEST_TEXT:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return [source, text]


def out_of_time(*_):
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--random", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    signal.signal(signal.SIGALRM, out_of_time)
    arguments.out.mkdir(parents=True, exist_ok=True)
    generator = jinja_random.Generator(arguments.seed)
    write(arguments.out / "constructs.json", [timed(source) for source in jinja_cases.templates()])
    cases = []
    while len(cases) < arguments.random:
        case = timed(generator.template())
        # Most random templates fail: enough of those, then only others.
        if case and (case[1] is not None or sum(c[1] is None for c in cases) < len(cases) / 4):
            cases.append(case)
    write(arguments.out / "random.json", cases)


def timed(source):
    signal.alarm(SECONDS_A_TEMPLATE)
    case = render(source, jinja_cases.VARIABLES)
    signal.alarm(0)
    return case


def write(path, cases):
    cases = [case for case in cases if case is not None]
    failing = sum(case[1] is None for case in cases)
    print(path.name, len(cases), "cases,", failing, "of them errors")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    variables = json.dumps(jinja_cases.VARIABLES, ensure_ascii=False)
    path.write_text(f'{{"variables": {variables},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
