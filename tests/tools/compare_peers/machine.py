"""The machine that is measured on, and who else used it meanwhile."""

import json
import os
import platform
import subprocess

FLAGS = ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
         "amx_bf16")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_count():
    return len(os.sched_getaffinity(0))


def describe():
    """What two runs must have in common for their figures to stand in one table."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = file.read().split("\n\n", 1)[0].splitlines()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = set(fields.get("flags", "").split())
    return {"cpu": f"{fields.get('model name', platform.machine())}, family {fields.get('cpu family', '?')}, "
                   f"model {fields.get('model', '?')}",
            "flags": [flag for flag in FLAGS if flag in flags], "cores": cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)}


def limits(prefix, weft, threads):
    """The machine's limits as `weft bench` measures them, behind the words of `prefix`: its "machine" object."""
    ran = subprocess.run([*prefix, weft, "bench", "--json", "--threads", str(threads), "--prompt-tokens", "1", "--batch", "1",
                          "--generate-tokens", "1"], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[0])["machine"]


def _cpu_seconds():
    """(processor time of everybody, time that the host gave to others) since the machine started, of all its cores."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICKS_PER_SECOND, steal / TICKS_PER_SECOND


class OthersWatch:
    """How much of the machine others had while a measured process ran; made before it starts."""

    def __init__(self):
        self._used, self._stolen = _cpu_seconds()
        self.load = os.getloadavg()[0]

    def shares(self, own_cpu_seconds, wall_seconds):
        """Of all cores' time: what other processes used, and what the host took."""
        used, stolen = _cpu_seconds()
        available = max(wall_seconds, 1e-3) * (os.cpu_count() or 1)
        others = max(0.0, used - self._used - own_cpu_seconds) / available
        return round(others, 3), round((stolen - self._stolen) / available, 3)
