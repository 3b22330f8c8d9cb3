#include "page_checksums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace fa_profile::store {
namespace {

using Checksum = std::array<std::uint32_t, 2>;

// cksumvfs's sum over everything but the reserved bytes (sqlite.org/cksumvfs.html): little-endian words.
Checksum Sum(std::span<const std::uint8_t> page) {
  static_assert(std::endian::native == std::endian::little, "the words of the sum are little-endian");
  std::uint32_t s1 = 0;
  std::uint32_t s2 = 0;
  for (std::size_t i = 0; i + kReservedBytes < page.size(); i += 8) {
    std::uint32_t words[2];
    std::memcpy(words, page.data() + i, sizeof words);
    s1 += words[0] + s2;
    s2 += words[1] + s1;
  }
  return {s1, s2};
}

std::uint8_t* StoredSum(std::span<std::uint8_t> page) { return page.data() + page.size() - kReservedBytes; }

// A connection's file, read and written through SQLite's own descriptor and lock.
struct PagedFile {
  explicit PagedFile(const Connection& owner) : connection(owner) {
    connection.Check(sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file));
    connection.Check(file->pMethods->xFileSize(file, &size));
    std::array<std::uint8_t, 100> header{};
    connection.Check(file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0));
    page_size = header[16] == 0 && header[17] == 1 ? 65536 : std::size_t{header[16]} << 8 | header[17];
    reserved = header[20];
    free_pages = sqlite3_int64{header[36]} << 24 | header[37] << 16 | header[38] << 8 | header[39];
  }

  void Read(std::span<std::uint8_t> bytes, sqlite3_int64 offset) const {
    connection.Check(file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), offset));
  }
  void Write(std::span<const std::uint8_t> bytes, sqlite3_int64 offset) const {
    connection.Check(file->pMethods->xWrite(file, bytes.data(), static_cast<int>(bytes.size()), offset));
  }
  // A program may have forbidden it to its process: then only a power cut can do harm.
  void Sync() const { (void)file->pMethods->xSync(file, SQLITE_SYNC_NORMAL); }

  // Passes every page but the first to `take`, with its number (from 2), in chunks that `after` gets with their offset.
  template <typename Take, typename After>
  void ForEachPage(const Take& take, const After& after) const {
    // The largest page; SQLite's own write takes no more than 128 KiB at once.
    const std::size_t pages_at_once = 65536 / page_size;
    std::vector<std::uint8_t> chunk;
    const sqlite3_int64 pages = size / static_cast<sqlite3_int64>(page_size);
    for (sqlite3_int64 first = 1; first < pages; first += static_cast<sqlite3_int64>(pages_at_once)) {
      const auto count = std::min<std::size_t>(pages_at_once, static_cast<std::size_t>(pages - first));
      chunk.resize(count * page_size);
      const sqlite3_int64 offset = first * static_cast<sqlite3_int64>(page_size);
      Read(chunk, offset);
      for (std::size_t i = 0; i < count; ++i) {
        take(std::span(chunk).subspan(i * page_size, page_size), first + static_cast<sqlite3_int64>(i) + 1);
      }
      after(std::span<const std::uint8_t>(chunk), offset);
    }
  }

  const Connection& connection;
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  std::size_t page_size = 0;
  int reserved = 0;
  sqlite3_int64 free_pages = 0;  // those that SQLite no longer uses
};

// SQLite locks bytes at this offset and leaves their page unused (sqlite.org/fileformat2.html, section 1.4).
constexpr sqlite3_int64 kLockByte = 1 << 30;

bool IsZero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

void Seal(std::span<std::uint8_t> page) {
  const Checksum sum = Sum(page);
  std::memcpy(StoredSum(page), sum.data(), kReservedBytes);
}

}  // namespace

void WritePageChecksums(const Connection& connection) {
  const PagedFile file(connection);
  file.ForEachPage([](std::span<std::uint8_t> page, sqlite3_int64) { Seal(page); },
                   [&](std::span<const std::uint8_t> chunk, sqlite3_int64 offset) { file.Write(chunk, offset); });
  file.Sync();
  std::vector<std::uint8_t> first(file.page_size);
  file.Read(first, 0);
  Seal(first);
  file.Write(first, 0);
  file.Sync();
}

bool VerifyPageChecksums(const Connection& connection) {
  const PagedFile file(connection);
  if (file.reserved != kReservedBytes) connection.Damaged("its pages have no room for checksums");
  if (!std::has_single_bit(file.page_size) || file.page_size < 512) connection.Damaged("its page size is impossible");
  const auto damaged = [&](sqlite3_int64 number, const char* what) {
    connection.Damaged("page " + std::to_string(number) + " of " +
                       std::to_string(file.size / static_cast<sqlite3_int64>(file.page_size)) + what);
  };
  sqlite3_int64 zero_pages = 0;
  const auto verify = [&](std::span<std::uint8_t> page, sqlite3_int64 number) {
    const Checksum sum = Sum(page);
    if (std::memcmp(StoredSum(page), sum.data(), kReservedBytes) != 0) damaged(number, " does not fit its checksum");
    // The sum of zeros is zero: a block of zeros that a file system substitutes for a lost one would pass. Only pages
    // that SQLite does not use may be all zeros.
    if (sum != Checksum{} || !IsZero(page)) return;
    if (number == kLockByte / static_cast<sqlite3_int64>(file.page_size) + 1) return;
    if (++zero_pages > file.free_pages) damaged(number, " holds only zeros");
  };
  std::vector<std::uint8_t> first(file.page_size);
  file.Read(first, 0);
  const std::array<std::uint8_t, kReservedBytes> none{};
  if (std::memcmp(StoredSum(first), none.data(), none.size()) == 0) return false;
  verify(first, 1);
  file.ForEachPage(verify, [](std::span<const std::uint8_t>, sqlite3_int64) {});
  return true;
}

}  // namespace fa_profile::store
