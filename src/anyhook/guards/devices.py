"""Keep commands from destroying disks and the system.

It denies what no version control brings back: writing to raw devices, making file systems, changing
partitions, the modes and owners of whole trees, fork bombs, switching the machine off.

Families: devices
Why: An agent that was to change the owner of some volumes ran `chown -R` over files of the system:
nobody could log in any more, and repairing it made it worse.
Source: https://github.com/anthropics/claude-code/issues/39283
Version: 1
"""

import re

from anyhook.authoring import Hooks, ask, deny

# Devices that may be written.
HARMLESS_DEVICES = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd/**",
    "/dev/shm/**",
    "/dev/pts/**",
]
# Trees whose modes and owners are not changed as a whole.
SYSTEM_TREES = ["/bin", "/boot", "/etc", "/home", "/lib", "/opt", "/root", "/usr", "/var", "~"]
# Programs, with their first arguments, that destroy what is on a disk or stop the machine.
DENIED_PROGRAMS = [
    ["blkdiscard"],
    ["cryptsetup", "luksFormat"],
    ["cryptsetup", "erase"],
    ["diskutil", "erase*"],
    ["diskutil", "partitionDisk"],
    ["flashrom"],
    ["halt"],
    ["insmod"],
    ["init", "[06]"],
    ["lvremove"],
    ["modprobe"],
    ["poweroff"],
    ["pvremove"],
    ["reboot"],
    ["rmmod"],
    ["shutdown"],
    ["systemctl", "halt"],
    ["systemctl", "poweroff"],
    ["systemctl", "reboot"],
    ["vgremove"],
    ["zpool", "destroy"],
    ["zfs", "destroy"],
]
# The same, with options.
DENIED_OPTIONS = [
    ("mdadm", {"--zero-superblock"}),
    ("sgdisk", {"--zap-all"}),
    ("wipefs", {"--all"}),
]
# Options with which a program for disks changes nothing.
HARMLESS_OPTIONS = ["--list", "-l", "--print", "--help", "--version", "--dry-run", "--no-act"]
FORK_BOMB = re.compile(r"([\w:.]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&")
INSTEAD = "Tell the user which command is needed and why, and let them run it."

hooks = Hooks(on_crash="deny")
hooks.about(families=["devices"])


@hooks.before_tool
def guard_devices(event):
    """Deny commands that destroy disks, system trees or the running system."""
    for match in dangers(event):
        if not match or is_harmless(match.command):
            continue
        if match.certain:
            return deny(f"{match.why}. {INSTEAD}")
        return ask(f"{match.why}, and that may destroy a disk or the system.")
    if event.tool == "shell" and FORK_BOMB.search(event.text):
        return deny(f"That is a fork bomb: it starts processes until the machine stops. {INSTEAD}")
    return None


def dangers(event):
    """Yield the answers to the questions, the most dangerous first."""
    yield event.writes("/dev/**", "/proc/sysrq-trigger", "/sys/**", but_not=HARMLESS_DEVICES)
    yield event.deletes("/dev/**", but_not=HARMLESS_DEVICES)
    for program in ("chmod", "chown", "chgrp"):
        match = event.runs(program, options={"--recursive"})
        if match:
            yield event.writes(*SYSTEM_TREES)
    for words in DENIED_PROGRAMS:
        yield event.runs(*words)
    for program, options in DENIED_OPTIONS:
        yield event.runs(program, options=options)


def is_harmless(command):
    """Return whether a command only shows something."""
    return command is not None and any(command.has_options([name]) for name in HARMLESS_OPTIONS)


hooks.example(tool="shell", input={"command": "dd if=x.img of=/dev/sda"}, expect="deny")
hooks.example(tool="shell", input={"command": "cat x.img > /dev/nvme0n1"}, expect="deny")
hooks.example(tool="shell", input={"command": "sudo mkfs.ext4 /dev/sdb1"}, expect="deny")
hooks.example(tool="shell", input={"command": "chmod -R 777 /"}, expect="deny")
hooks.example(tool="shell", input={"command": "chown --recursive me /etc"}, expect="deny")
hooks.example(tool="shell", input={"command": "sudo shutdown -h now"}, expect="deny")
hooks.example(tool="shell", input={"command": "zpool destroy tank"}, expect="deny")
hooks.example(tool="shell", input={"command": "wipefs -a /dev/sdb"}, expect="deny")
hooks.example(tool="shell", input={"command": "mdadm --zero-superblock /dev/sdb"}, expect="deny")
hooks.example(tool="shell", input={"command": "echo c > /proc/sysrq-trigger"}, expect="deny")
hooks.example(tool="shell", input={"command": ":(){ :|:& };:"}, expect="deny")
hooks.example(tool="shell", input={"command": "dd if=x.img of=$DISK"}, expect="ask")
hooks.example(tool="shell", input={"command": "make 2> /dev/null"}, expect="none")
hooks.example(tool="shell", input={"command": "parted -l; fdisk -l /dev/sda"}, expect="none")
hooks.example(tool="shell", input={"command": "mkfs.ext4 test.img"}, expect="none")
hooks.example(tool="shell", input={"command": "chmod -R u+w build"}, expect="none")
hooks.example(tool="shell", input={"command": "chmod 644 /etc"}, expect="none")

if __name__ == "__main__":
    hooks.run()
