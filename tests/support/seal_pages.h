#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// A forger's tools for recordings: fix the checksums of the pages, and the size in the header, after a change. Written
/// from SQLite's documents (fileformat2.html, cksumvfs.html), not from the code under test.
namespace fa_profile {

/// Bytes of a page by the header of an SQLite file; 0 when `file` is shorter than a page or names an impossible size.
inline std::size_t PageSize(std::span<const std::uint8_t> file) {
  if (file.size() < 512) return 0;
  const std::size_t size = file[16] == 0 && file[17] == 1 ? 65536 : std::size_t{file[16]} << 8 | file[17];
  return size < 512 || (size & (size - 1)) != 0 || file.size() < size ? 0 : size;
}

/// Writes the 8-byte checksum of every whole page, when the header reserves the room for one; otherwise does nothing.
inline void SealPages(std::span<std::uint8_t> file) {
  const std::size_t page_size = PageSize(file);
  if (page_size == 0 || file[20] != 8) return;
  for (std::size_t page = 0; page + page_size <= file.size(); page += page_size) {
    std::uint32_t sum[2] = {0, 0};
    for (std::size_t i = page; i < page + page_size - 8; i += 8) {
      std::uint32_t words[2];
      std::memcpy(words, &file[i], 8);
      sum[0] += words[0] + sum[1];
      sum[1] += words[1] + sum[0];
    }
    std::memcpy(&file[page + page_size - 8], sum, 8);
  }
}

/// Cuts what is left of a last page, writes the number of pages into the header, and seals: the file is then refused
/// only for the content of its pages.
inline void MakeWhole(std::vector<std::uint8_t>& file) {
  const std::size_t page_size = PageSize(file);
  if (page_size == 0) return;
  const std::size_t pages = file.size() / page_size;
  file.resize(pages * page_size);
  for (std::size_t i = 0; i < 4; ++i) file[28 + i] = static_cast<std::uint8_t>(pages >> (24 - 8 * i));
  std::memcpy(&file[92], &file[24], 4);  // SQLite believes the number when these two agree
  SealPages(file);
}

}  // namespace fa_profile
