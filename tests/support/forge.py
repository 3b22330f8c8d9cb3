"""Recordings as another program could have made them: any change, with checksums that hold."""

import shutil
import sqlite3
import struct


def seal(path):
    """Makes the checksum of each page that of its content, as SQLite's checksum VFS has it (seal_pages.h)."""
    data = bytearray(path.read_bytes())
    size = struct.unpack(">H", data[16:18])[0]
    size = 65536 if size == 1 else size
    if data[20] != 8:
        return
    for start in range(0, len(data), size):
        words = struct.unpack_from(f"<{(size - 8) // 4}I", data, start)
        a = b = 0
        for i in range(0, len(words), 2):
            a = (a + words[i] + b) & 0xFFFFFFFF
            b = (b + words[i + 1] + a) & 0xFFFFFFFF
        struct.pack_into("<II", data, start + size - 8, a, b)
    path.write_bytes(data)


def forge(source, target, *statements):
    """Copies a recording and runs SQL on the copy; a statement is a text, or a text with its values."""
    shutil.copy(source, target)
    connection = sqlite3.connect(target)
    for statement in statements:
        connection.execute(*([statement] if isinstance(statement, str) else statement))
    connection.commit()
    connection.close()
    seal(target)
    return target
