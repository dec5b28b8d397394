"""An emulated machine of `punctual lab` for a bench."""

import subprocess


class GuestFailed(Exception):
    """Why the machine did not start, or a command in it failed, in words."""


class Guest:
    """A machine that is up while the block lasts; `scenario` is a file with one node."""

    def __init__(self, program, scenario, name):
        self.lab, self.scenario, self.name = [str(program), "lab"], str(scenario), name

    def __enter__(self):
        up = subprocess.run([*self.lab, "up", self.scenario, "--name", self.name], capture_output=True, text=True)
        if up.returncode:
            self.__exit__()
            raise GuestFailed(up.stderr.strip()[-400:])
        return self

    def __exit__(self, *_):
        subprocess.run([*self.lab, "down", self.name], capture_output=True)

    def run(self, command, timeout=600):
        """What a shell command wrote to its standard output, however it ended."""
        words = [*self.lab, "exec", self.name, "--", "sh", "-c", command]
        try:
            return subprocess.run(words, capture_output=True, text=True, timeout=timeout).stdout
        except subprocess.TimeoutExpired:
            raise GuestFailed(f"'{command}' did not end within {timeout} s") from None

    def put(self, content, path):
        """Makes an executable file of these bytes."""
        words = [*self.lab, "exec", "--input", self.name, "--", "sh", "-c", f"mkdir -p $(dirname {path}); cat >{path}; chmod 755 {path}"]
        done = subprocess.run(words, input=content, capture_output=True, timeout=300)
        if done.returncode:
            raise GuestFailed(f"{path}: {done.stderr.decode(errors='replace').strip()[-200:]}")

    def get(self, path):
        """The bytes of a file."""
        done = subprocess.run([*self.lab, "exec", self.name, "--", "cat", path], capture_output=True, timeout=300)
        if done.returncode:
            raise GuestFailed(f"{path}: {done.stderr.decode(errors='replace').strip()[-200:]}")
        return done.stdout
