#pragma once

#include <cstdint>

#include "fa_profile/sqlite.h"

namespace fa_profile::store {

/// Bytes that SQLite leaves to us at the end of every page (SQLITE_FCNTL_RESERVE_BYTES), for a checksum of the page in
/// the format of SQLite's own cksumvfs extension. SQLite alone would not notice a flipped bit in a number.
inline constexpr int kReservedBytes = 8;

/// Writes the checksum of every page in a finished file, the first page's last and after a sync: if the first page has
/// one, all have. Throws Error when the file cannot be written. The connection holds the file's lock and has no open
/// transaction; it must not write afterwards.
void WritePageChecksums(const Connection& connection);

/// Throws Error (damaged) naming the first page whose bytes do not match its checksum, or are all zeros. False, and
/// nothing verified, if the first page has none: the file was not finished, or has lost it. Reads the whole file once.
bool VerifyPageChecksums(const Connection& connection);

}  // namespace fa_profile::store
