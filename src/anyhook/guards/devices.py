"""Keep commands from destroying disks and the system.

It denies what no version control brings back: writing to raw devices, making file systems, changing
partitions, the modes and owners of whole trees, fork bombs, switching the machine off.

Families: devices
Why: An agent that was to change the owner of some volumes ran `chown -R` over files of the system:
no user could log in any more, and repairing it made it worse.
Source: https://github.com/anthropics/claude-code/issues/39283
Version: 1
"""

import re

from anyhook.authoring import Hooks, ask, deny

# Devices that may be written.
HARMLESS_DEVICES = ["/dev/zero", "/dev/full", "/dev/fd/**", "/dev/shm/**", "/dev/pts/**"]
# Trees whose modes and owners are not changed as a whole.
SYSTEM_TREES = ["/bin", "/boot", "/etc", "/home", "/lib", "/opt", "/root", "/usr", "/var", "~"]
# Programs, with their first arguments, that destroy what is on a disk or stop the machine.
DENIED_PROGRAMS = [
    "blkdiscard",
    "cryptsetup erase",
    "cryptsetup luksFormat",
    "diskutil erase*",
    "diskutil partitionDisk",
    "flashrom",
    "halt",
    "init 0",
    "init 6",
    "insmod",
    "lvremove",
    "modprobe",
    "nvme format",
    "poweroff",
    "pvremove",
    "reboot",
    "rmmod",
    "shutdown",
    "systemctl halt",
    "systemctl poweroff",
    "systemctl reboot",
    "telinit 0",
    "telinit 6",
    "vgremove",
    "zfs destroy",
    "zpool destroy",
]
# Options with which a program for disks changes nothing.
HARMLESS_OPTIONS = [
    "--list",
    "-l",
    "--print",
    "--help",
    "--version",
    "--dry-run",
    "--no-act",
    "--test",
]
FORK_BOMB = re.compile(r"([\w:.]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&")
INSTEAD = "Tell the user which command is needed and why, and let them run it."

hooks = Hooks(on_crash="deny")
hooks.about(families=["devices"])


@hooks.before_tool
def guard_devices(event):
    """Deny commands that destroy disks, system trees or the running system."""
    for question in dangers(event):
        for match in question:
            if is_harmless(match.command):
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
        by_find = any("find" in match.command.chain for match in event.runs(program))
        if by_find or event.runs(program, options={"--recursive"}):
            yield event.writes(*SYSTEM_TREES)
    yield event.runs("mdadm", options={"--zero-superblock"})
    for words in DENIED_PROGRAMS:
        yield event.runs(*words.split())


def is_harmless(command):
    """Return whether a command only shows something."""
    return command is not None and any(command.has_options([name]) for name in HARMLESS_OPTIONS)


for denied in """
dd if=x.img of=/dev/sda
cat x.img > /dev/nvme0n1
sudo mkfs.ext4 /dev/sdb1
chmod -R 777 /
chmod -R 777 /bin
chown --recursive me /boot
chgrp -R me /etc
chmod -R 777 /home
chmod -R 777 /lib
chmod -R 777 /opt
chmod -R 777 /root
chmod -R 777 /usr
chmod -R 777 /var
chmod -R 777 ~
blkdiscard x.img
cryptsetup erase x.img
cryptsetup luksFormat x.img
diskutil eraseDisk JHFS+ x disk2
diskutil partitionDisk disk2 1 MBR FAT32 x 1G
flashrom -w bios.bin
halt -p
init 0
insmod x.ko
lvremove vg/data
modprobe x
nvme format /dev/nvme0n1
telinit 6
poweroff -f
pvremove x
reboot -f
rmmod x
sudo shutdown -h now
systemctl halt
systemctl poweroff
systemctl reboot
vgremove vg
zfs destroy tank/home
zpool destroy tank
wipefs -a /dev/sdb
find /opt -exec chmod 777 {} +
mdadm --zero-superblock /dev/sdb
sgdisk --zap-all /dev/sdb
echo c > /proc/sysrq-trigger
echo 1 > /sys/block/sda/device/delete
rm /dev/sda
halt --help; halt
:(){ :|:& };:
:(){:|:&};:
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
hooks.example(tool="shell", input={"command": "dd if=x.img of=$DISK"}, expect="ask")
for harmless in """
echo x | tee /dev/null /dev/zero /dev/full /dev/tty /dev/stdout /dev/stderr /dev/fd/3
cp data.bin /dev/shm/data.bin; echo done > /dev/pts/1
rm -rf /dev/shm/build
parted -l; fdisk -l /dev/sda; wipefs /dev/sdb
lvremove --test vg/data
lvremove -h vg/data
find . -type d -exec chmod 755 {} +
flashrom --list
flashrom --print
flashrom --help
lvremove --version
shutdown --dry-run
flashrom --no-act
zfs list
mkfs.ext4 test.img
chmod -R u+w build
chmod 644 /etc
cryptsetup status x.img; diskutil list; init 3; systemctl status; zpool status
build() { make |& tee build.log; }
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")

if __name__ == "__main__":
    hooks.run()
