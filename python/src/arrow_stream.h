#pragma once

#include <cstdint>
#include <string>

#include "tables.h"

// Apache Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): these structs are its
// ABI.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
#endif

namespace fa_profile::python {

/// The name of a stream's capsule.
inline constexpr const char* kArrowStream = "arrow_array_stream";

/// A stream of one record batch with these columns: texts are utf8, numbers float64, counts int64, flags bool, absent
/// cells null. The caller owns it, and ends it with FreeArrowStream(). Throws Error for cells of another kind than
/// their column, columns of different lengths, and more than 2 GiB of text in a column.
ArrowArrayStream* NewArrowStream(const Table& table);

/// Releases the stream, unless its consumer already has, and frees it. Accepts nullptr.
void FreeArrowStream(ArrowArrayStream* stream) noexcept;

}  // namespace fa_profile::python
