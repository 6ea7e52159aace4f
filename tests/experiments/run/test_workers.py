"""Worker processes: they stop when told, and do not outlive their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

SLOW = """
import time
import rcpomdp as rc

class Slow:
    def initial(self, rng): return None
    def action(self, state): time.sleep(0.05); return 0
    def update(self, state, observation): return None

model = rc.problems.make("tiger")
print("started", flush=True)
rc.simulate(model, Slow(), runs=10**6, workers=2)
"""


def start() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(3)
    return process


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_an_interrupt_does_not_wait_for_queued_work() -> None:
    """A block of such runs takes minutes; the interrupt must not wait for one."""
    process = start()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors  # no block was finished, so there is nothing to return
    assert group_is_gone(process.pid)


def test_workers_end_with_a_parent_that_is_killed() -> None:
    process = start()
    process.kill()
    process.wait(timeout=60)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    for _ in range(60):
        if group_is_gone(process.pid):
            break
        time.sleep(1)
    assert group_is_gone(process.pid)
