#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fa_profile::emulator {

/// The contents of the emulator's tensor map: (heads, seqlen, head_dim) of 2-byte elements, and the rows of a box.
struct Tensor {
  std::uint16_t* data;
  int head_dim;
  int seqlen;
  int heads;
  int box_rows;

  std::uint16_t& At(int head, int row, int column) const {
    return data[(static_cast<std::size_t>(head) * static_cast<std::size_t>(seqlen) + static_cast<std::size_t>(row)) *
                    static_cast<std::size_t>(head_dim) +
                static_cast<std::size_t>(column)];
  }
};

inline Tensor TensorOf(const CUtensorMap& map) {
  Tensor tensor{};
  std::memcpy(&tensor, &map, sizeof tensor);
  return tensor;
}

}  // namespace fa_profile::emulator
