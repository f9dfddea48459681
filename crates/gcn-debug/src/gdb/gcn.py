# GDB's side of `gcn debug --gdb`: gdb-multiarch -x gcn.py -ex 'target remote :1234'
#
# - x/i, disassemble and display/i show GCN instructions.
# - `gcn COMMAND` executes any command of `gcn debug` (`gcn help` lists them) as `monitor COMMAND` does, and
#   then updates GDB to the session's state.
# - $f32(X), $f16(X) and $f64(LOW, HIGH) are the bits of registers as floats: p $f32($v1[63]).
# - backtrace, up, down and finish know the calls that a wave is in, also of objects whose tables for unwinding are empty, as compilers
#   write them for this target.

import struct

import gdb
import gdb.disassembler
import gdb.unwinder

# Files are read for the target: with 64-bit addresses.
gdb.execute("set architecture i386:x86-64", False, True)
# Unwinding rules without contents would end GDB.
gdb.execute("maintenance set dwarf unwinders off", False, True)


def gcn_ask(packet):
    """The answer to a packet, or None if the target is not `gcn debug`."""
    connection = gdb.selected_inferior().connection
    if not isinstance(connection, gdb.RemoteTargetConnection):
        return None
    reply = connection.send_packet(packet)
    if not reply:
        return None
    text = reply.decode("utf-8", "replace")
    return None if text.startswith("E") else text


class GcnDisassembler(gdb.disassembler.Disassembler):
    def __init__(self):
        super().__init__("gcn")

    def __call__(self, info):
        reply = gcn_ask("qgcn.insn:%x" % info.address)
        if reply is None:
            return None
        length, text = reply.split(" ", 1)
        return gdb.disassembler.DisassemblerResult(int(length), text)


gdb.disassembler.register_disassembler(GcnDisassembler(), None)


class GcnFrame:
    """What identifies a frame: it is the same as long as the call has not returned."""

    def __init__(self, outside):
        self.sp = gdb.Value(0x7F00000000008000 - 8 * outside)
        self.pc = gdb.Value(0)


class GcnUnwinder(gdb.unwinder.Unwinder):
    """The callers of a frame. `rsp` points to where the call returns to, and says how many calls there are around it."""

    def __init__(self):
        super().__init__("gcn")

    def outside(self, rsp):
        # The target gives a wave in few calls another stack, whose end GDB takes for that of the outermost frame.
        few = (8 - rsp) % (1 << 64) // 8
        return few if few <= 2 else (0x8000 - (rsp & 0xFFFF)) // 8

    def __call__(self, pending):
        try:
            pending.read_register("exec")
        except ValueError:
            # Another target.
            return None
        rsp = int(pending.read_register("rsp")) % (1 << 64)
        outside = self.outside(rsp)
        if outside <= 0:
            # The kernel: the outermost frame.
            return None
        stored = gdb.selected_inferior().read_memory(rsp, 8)
        caller = int.from_bytes(bytes(stored), "little")
        info = pending.create_unwind_info(GcnFrame(outside))
        info.add_saved_register("rip", gdb.Value(caller))
        info.add_saved_register("rsp", gdb.Value((rsp + 8) % (1 << 64) if outside > 1 else 8))
        return info


gdb.unwinder.register_unwinder(None, GcnUnwinder(), True)


class GcnCommand(gdb.Command):
    """Execute a command of `gcn debug`, and show GDB where the session is: gcn COMMAND"""

    def __init__(self):
        super().__init__("gcn", gdb.COMMAND_RUNNING)

    def invoke(self, command, from_tty):
        if gcn_ask("qgcn.thread") is None:
            raise gdb.GdbError("The target is not `gcn debug --gdb`.")
        try:
            gdb.execute("monitor " + command)
        except gdb.error:
            # The command has printed the error.
            raise gdb.GdbError("The command was not done.") from None
        finally:
            gdb.execute("maintenance flush register-cache", False, True)
            gdb.execute("maintenance flush dcache", False, True)
            self.follow()

    def follow(self):
        reply = gcn_ask("qgcn.thread")
        if reply is None:
            return
        gdb.execute("info threads", False, True)
        for thread in gdb.selected_inferior().threads():
            if int(reply, 16) in thread.ptid[1:]:
                thread.switch()


GcnCommand()


class GcnFloat(gdb.Function):
    def __init__(self, name, form):
        super().__init__(name)
        self.form = form
        self.mask = (1 << (8 * struct.calcsize(form))) - 1

    def invoke(self, low, high=0):
        bits = (int(low) & 0xFFFFFFFF | int(high) << 32) & self.mask
        data = bits.to_bytes(struct.calcsize(self.form), "little")
        return struct.unpack("<" + self.form, data)[0]


GcnFloat("f16", "e")
GcnFloat("f32", "f")
GcnFloat("f64", "d")
