"""llama.cpp's sources out of PyPI, where the source archive of llama-cpp-python has them."""

import glob
import os
import shutil
import subprocess

SDIST = "llama-cpp-python==0.3.36"


def fetch(python, directory):
    """llama.cpp's folder, below `directory`, fetched if it is not there. `python` has pip. OSError: it cannot be had."""
    def found():
        return glob.glob(os.path.join(directory, "llama_cpp_python-*", "vendor", "llama.cpp"))

    if not found():
        fetched = subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", directory, SDIST],
                                 capture_output=True, text=True, check=False)
        archives = glob.glob(os.path.join(directory, "llama_cpp_python-*.tar.gz"))
        if not archives:
            raise OSError(f"pip could not fetch {SDIST}: {fetched.stderr.strip()[-300:]}")
        shutil.unpack_archive(archives[0], directory)
    return found()[0]
