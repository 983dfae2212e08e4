"""llama-server's own tests (llama.cpp's tools/server/tests) against Weft: `llama_server_suite_test.py --weft BINARY`.

The sources come from PyPI, in the sdist of llama-cpp-python, or lie in WEFT_LLAMA_CPP, a folder of llama.cpp. They run as they are, but
for what SUBSTITUTIONS changes in a copy: what their models would write, and how their tokenizers cut it, is no matter of an API. A test
is passed, failed, or not offered (NOT_OFFERED, which docs/API.md lists); of those offered LEAST_SHARE must pass."""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration"), os.path.join(HERE, "..", "tools")]

import llama_cpp_sources  # noqa: E402
from client_packages import make_venv, skip  # noqa: E402
from harness import main, options  # noqa: E402

BUILD = os.path.abspath(os.path.join(HERE, "..", "..", "build", "llama-server-suite"))
VENV = os.path.join(BUILD, "venv")
LEAST_SHARE = 0.95  # of those offered; docs/API.md says which do not pass

# Patterns in the suite's files and what stands for them.
SUBSTITUTIONS = (
    (r"^def match_regex\(.*?\) -> bool:$", r"\g<0>\n    return isinstance(text, str)"),  # a model's literal text
    (r'system_fingerprint(["\]]*)\.startswith\("b"\)', r'system_fingerprint\1.startswith("fp_")'),  # the build's name
    (r"== (n_prompt|n_tokens|2 \* 9|226)$", "> 0"),  # other vocabularies cut texts otherwise
    (r"== n_token_output$", ">= n_token_output"),  # likewise: what the context leaves
    (r"^    assert (most|least)_relevant\[\"index\"\] == \d$", ""),  # what a model deems relevant
)

# What Weft does not offer: for why, patterns of tests.
NOT_OFFERED = {
    "slots on disk": ("test_slot_save*",),
    "LoRA": ("test_lora*",),
    "draft models": ("test_speculative*",),
    "images and audio": ("test_vision_api*", "*test_anthropic_vision*", "*tool_result_with_image*", "*test_local_media_file*"),
    "router mode": ("test_router*", "test_stream*", "*test_cors_origins_defaults_to_localhost_with_tools*"),
    "flags of the other binary: --ui-mcp-proxy": ("test_proxy*", "*test_cors_proxy*"),
    "flags of the other binary: --tools, --mcp-servers-config": ("test_tools_builtin*", "test_mcp_servers*"),
    "flags of the other binary: --sleep-idle-seconds": ("test_sleep*",),
    "flags of the other binary: --cache-idle-slots and its log": ("test_kv_keep_only_active*",),
    "flags of the other binary: --kv-unified": ("*test_completion_unified*",),
    "flags of the other binary: --context-shift": ("*test_ctx_shift_enabled*",),
    "flags of the other binary: --pooling none": ("*test_embedding_pooling_none*",),
    "flags of the other binary: --gcp": ("test_compat_gcp*",),
    "flags of the other binary: --ui": ("*test_no_ui*", "*test_access_static_assets*"),
    "flags of the other binary: --slots": ("*test_server_slots*",),
    "flags of the other binary: --tags": ("*test_server_model_aliases_and_tags*",),
    "flags of the other binary: --verbose": ("*test_chat_template[[]*", "*test_chat_template0*", "*assistant_prefill*",
                                             "*continue_final_message_vllm*", "*test_verbose_debug*", "*test_chat_template"),
    "flags of the other binary: --metrics": ("*test_metrics_disabled*", "*test_metrics_prometheus_format*",
                                             "*prompt_processed_and_cached*", "*predicted_total_matches*",
                                             "*embedding_prompt_is_counted*"),
    "flags of the other binary: --backend_sampling": ("*post_backend_sampling*",),
    "flags of the other binary: --cors-origins": ("*test_cors_options*", "*test_cors_origins_localhost_rejects*"),
    "flags of the other binary: several hosts": ("*test_server_multiple_addresses*",),
}


def reason_of(test):
    """Why Weft does not offer what a test is about; None: it does."""
    return next((why for why, patterns in NOT_OFFERED.items() if any(fnmatch.fnmatch(test, pattern) for pattern in patterns)), None)


def fetch_sources(python):
    """llama.cpp's folder."""
    given = os.environ.get("WEFT_LLAMA_CPP")
    if given:
        return given
    try:
        return llama_cpp_sources.fetch(python, BUILD)
    except OSError as error:
        return skip(str(error))


def copy_suite(llama_cpp):
    """A copy with the SUBSTITUTIONS, three folders below one with models/templates, as the tests expect."""
    root = os.path.join(BUILD, "copy")
    shutil.rmtree(root, ignore_errors=True)
    suite = os.path.join(root, "tools", "server", "tests")
    shutil.copytree(os.path.join(llama_cpp, "tools", "server", "tests"), suite)
    shutil.copytree(os.path.join(llama_cpp, "models", "templates"), os.path.join(root, "models", "templates"))
    for path in glob.glob(os.path.join(suite, "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for pattern, replacement in SUBSTITUTIONS:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE | re.DOTALL if "def " in pattern else re.MULTILINE)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return suite


def stand_in(models, templates):
    """The program that the tests start."""
    path = os.path.join(BUILD, "llama-server")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/llama_server.py" --weft "{os.path.abspath(options.weft)}" '
                   f'--models "{models}" --templates "{templates}" "$@"\n')
    os.chmod(path, 0o755)
    return path


def results_of(report):
    """The outcome of each test: "passed", "skipped" or what failed."""
    results = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = case.get("classname").removeprefix("unit.") + "::" + case.get("name")
        failure = next((child for child in case if child.tag in ("failure", "error")), None)
        skipped = case.find("skipped") is not None
        results[name] = (failure.get("message") or failure.tag) if failure is not None else "skipped" if skipped else "passed"
    return results


class LlamaServerSuite(unittest.TestCase):
    def test_the_suite_passes(self):
        python, reason = make_venv(VENV, os.path.join(HERE, "llama_server_requirements.txt"))
        if python is None:
            skip(reason)
        llama_cpp = fetch_sources(python)
        models = os.path.join(BUILD, "models")
        subprocess.run([python, os.path.join(HERE, "llama_server_models.py"), llama_cpp, models], check=True)
        suite = copy_suite(llama_cpp)
        templates = os.path.join(llama_cpp, "models", "templates")
        report = os.path.join(BUILD, "report.xml")
        environment = {**os.environ, "LLAMA_SERVER_BIN_PATH": stand_in(models, templates), "PORT": "18080"}
        subprocess.run([python, "-m", "pytest", "-q", "-m", "not slow", f"--junitxml={report}", "-o", "junit_family=xunit1",
                        *os.environ.get("WEFT_LLAMA_TESTS", "").split()],
                       cwd=suite, env=environment, stdout=subprocess.DEVNULL, check=False, timeout=7000)
        results = results_of(report)
        offered = {test: result for test, result in results.items() if reason_of(test) is None and result != "skipped"}
        passed = [test for test, result in offered.items() if result == "passed"]
        print(f"{len(results)} tests, {len(results) - len(offered)} not offered or skipped by themselves, {len(offered)} offered, "
              f"{len(passed)} passed")
        for test, result in offered.items():
            if result != "passed":
                print(f"  {test}: {result.splitlines()[0][:160]}")
        self.assertGreaterEqual(len(passed), LEAST_SHARE * len(offered))


if __name__ == "__main__":
    main("model")
