#pragma once

#include <cstdint>

#include "fa_profile/sqlite.h"

namespace fa_profile::store {

/// Bytes at the end of every page that SQLite leaves to us (SQLITE_FCNTL_RESERVE_BYTES), for a checksum of the page in
/// the format of SQLite's own cksumvfs extension. SQLite by itself would take a flipped bit in a number for the number.
inline constexpr int kReservedBytes = 8;

/// Gives every page of a finished file its checksum, the first page last and after a sync: a file whose first page has
/// one has all. Throws Error when the file cannot be written. The connection holds the file's lock and has no open
/// transaction; it must not write afterwards.
void WritePageChecksums(const Connection& connection);

/// Throws Error (damaged) naming the first page whose bytes do not fit its checksum, or are all zeros. False, and
/// nothing verified, when the first page has none: the file was not finished, or has lost it. Reads the whole file
/// once.
bool VerifyPageChecksums(const Connection& connection);

}  // namespace fa_profile::store
