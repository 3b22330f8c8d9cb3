// Writes the seeds of the recording fuzzer: make_recording_corpus DIRECTORY. Those under DIRECTORY/good open; each of
// those under DIRECTORY/refused has one thing wrong. To be run again when the schema changes.
#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "seal_pages.h"

namespace {

namespace fs = std::filesystem;
using namespace fa_profile;
using Bytes = std::vector<std::uint8_t>;

// Code and what its instructions did: a function, a sampling and a counting for each of `cases`, 3 at most, and a last
// function that could not be disassembled. The longest of many cases is split into several rows of a table.
void WriteCode(store::RecordingWriter& writer, int cases) {
  const int functions = std::min(cases, 3);
  for (int id = 1; id <= functions; ++id) {
    Cubin cubin{.id = id, .crc = (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(id), .bytes = Bytes(200)};
    for (std::size_t i = 0; i < 60; ++i) cubin.bytes[i * 7 % 200] = static_cast<std::uint8_t>(i);
    writer.Write(cubin);
    const InlineFrame kernel{"void mma<64>(half*)", "mma.cu", 40};
    const InlineFrame tile{"load_tile", "tile.cuh", 12};
    const InlineFrame pointer{"at", "tile.cuh", 3};
    writer.Write(DeviceFunction{.id = id,
                                .cubin_crc = cubin.crc,
                                .name = "_Z3mmaILi64EEvP6__half",
                                .instructions = {{0, "", "LDC", "R1, c[0x0][0x28]", {kernel}},
                                                 {16, "@!P0", "LDG.E.128", "R4, [R2.64]", {pointer, tile, kernel}},
                                                 {32, "", "HMMA.16816.F32", "R8, R4, R12, R8", {tile, kernel}},
                                                 {48, "@P1", "BRA", "0x10", {kernel}},
                                                 {80, "", "EXIT", "", {}}}});
  }
  writer.Write(DeviceFunction{.id = functions + 1, .cubin_crc = 7, .name = "elsewhere"});
  for (int id = 1; id <= functions; ++id) {
    const std::uint32_t instructions = id == 3 ? 1030 : 6;
    PcSampling sampling{.id = id,
                        .case_id = id,
                        .part = id % 2 != 0 ? "" : "pv",
                        .period_cycles = 2048,
                        .launches = 64,
                        .total_samples = 5000,
                        .dropped_samples = 3,
                        .call_ns = id % 2 != 0 ? std::optional(1234.5) : std::nullopt};
    SassCounting counting{.id = id, .case_id = id, .part = sampling.part};
    for (std::uint32_t i = 0; i < instructions; ++i) {
      if (i == 4) continue;  // a case that is not a neighbour begins a row
      if (i < 140) {
        sampling.samples.push_back({id, i * 16, {{"selected", i + 1}, {"long_scoreboard_not_issued", i * 5}}});
      }
      counting.counts.push_back({id, i * 16, {{"smsp__sass_inst_executed", i < 2 ? 4096 : 512}}});
    }
    sampling.samples.push_back({functions + 1, 4294967280, {{"wait", std::uint64_t{1} << 62}}});
    counting.counts.push_back({functions + 1, 64, {{"smsp__inst_executed.sum", 0}}});
    writer.Write(sampling);
    writer.Write(counting);
  }
}

// A program's work: `cases` windows, in each some of every case.
void WriteWork(store::RecordingWriter& writer, int cases) {
  for (int id = 1; id <= cases; ++id) {
    const std::int64_t start_ns = 1000000000000 + id * 500000000;
    writer.Write(WatchWindow{.id = id,
                             .start_ns = start_ns,
                             .end_ns = start_ns + 500000000,
                             .busy_ns = 355000000,
                             .measuring_ns = id % 2 != 0 ? 0 : 20000000,
                             .unrecorded_ns = id % 3 != 0 ? 0 : 30000000});
    for (int case_id = 1; case_id <= std::min(id, 3); ++case_id) {
      writer.Write(KernelWork{.window_id = id,
                              .case_id = case_id,
                              .launches = 1000,
                              .graph_launches = 900,
                              .total_ns = 5000000,
                              .min_ns = 4100,
                              .max_ns = 9000});
    }
    writer.Write(MemoryWork{
        .window_id = id, .kind = "copy host to device", .operations = 3, .bytes = 3 << 20, .total_ns = 150000});
    writer.Write(NvtxWork{.window_id = id,
                          .path = id % 2 != 0 ? "step" : "step / torch: attn \xC3\xA9",
                          .depth = id % 2 != 0 ? 0 : 1,
                          .ranges = 10,
                          .host_ns = 40000000,
                          .launches = 800,
                          .gpu_ns = 4000000});
    writer.Write(NvtxKernelWork{
        .window_id = id, .case_id = 1, .path = "step / torch: attn \xC3\xA9", .launches = 700, .gpu_ns = 3500000});
  }
}

// Some of everything, `cases` times.
void WriteEverything(store::RecordingWriter& writer, int cases) {
  writer.Write(Session{.tool_version = "0.1.0",
                       .tool_commit = "0123456789ab",
                       .created_at = "2025-01-02T03:04:05Z",
                       .command_line = "fa-profile --ncu-set full",
                       .metric_set = "full",
                       .replay_mode = "user",
                       .cache_policy = "warm",
                       .warmup_launches = 3,
                       .timed_launches = 5,
                       .draws = 100});
  writer.Write(Device{.name = "NVIDIA H200",
                      .chip = "GH100",
                      .uuid = "GPU-1",
                      .compute_capability_major = 9,
                      .sm_count = 132,
                      .max_threads_per_sm = 2048,
                      .l2_bytes = 62914560,
                      .memory_bytes = 150000000000,
                      .driver_version = "580.159"});
  writer.Write(ClockSample{.when = "before",
                           .sm_hz = 1980000000,
                           .temperature_celsius = 41.5,
                           .power_watts = 120.25,
                           .throttle_reasons = std::uint64_t{1} << 63});
  writer.Write(ClockSample{.when = "after"});
  for (int id = 1; id <= cases; ++id) {
    std::optional<Shape> shape;
    if (id % 3 != 0) shape = AttentionShape{.batch = id, .causal = id % 2 == 0};
    if (id % 6 == 0) shape = Shape({{"m", 4096}, {"n", id}});
    writer.Write(Case{.id = id, .kernel = "mma", .origin = id % 2 != 0 ? "ladder" : "/lib/my.so", .shape = shape});
    writer.Write(
        Verification{.case_id = id, .draws = 100, .draws_passed = 100, .max_abs_error = 1e-4, .max_error_ratio = 0.5});
    if (id % 6 == 0) {
      writer.Write(Judgement{.case_id = id,
                             .verdict = Judgement::Verdict::kRefused,
                             .reason = "timed calls do less",
                             .calls = 312,
                             .same_bits = true,
                             .durations_ns = {1000.5, 999},
                             .calls_a_burst = 300,
                             .calls_a_graph = 100,
                             .sets = 3,
                             .verified = {.instructions = 1e6, .fp64_cycles = 7, .l2_sectors = 4096},
                             .timed = {.instructions = 1e5, .dram_sectors = 2},
                             .conditions = "fp16; 16.8 MB of tensors a call, warm in L2"});
    }
    writer.Write(Timing{.case_id = id, .method = "graph replay", .durations_ns = {1000.5, 999, 1003, 998.25, 1200}});
    writer.Write(Launch{.id = id,
                        .case_id = id,
                        .part = "qk",
                        .kernel_name = "void mma<64>(half*)",
                        .grid = {8, 4, 1},
                        .block = {128, 1, 1},
                        .registers_per_thread = 168,
                        .dynamic_shared_memory_bytes = 65536,
                        .stream = 7,
                        .correlation = 0xffffffffu,
                        .start_ns = 1000000000000 + id,
                        .end_ns = 1000000001000 + id,
                        .graph = id % 2 == 0 ? 3u : 0u});
    writer.Write(SourceHash{.file = "kernels/a.cu", .sha256 = std::string(64, 'a')});
    writer.Write(PmSample{.case_id = id, .metric = "tensor", .start_ns = 10000, .duration_ns = 10000, .value = 62.5});
    writer.Write(
        NvtxRange{.domain = "fa", .name = "attn \xC3\xA9", .depth = 1, .thread = 77, .start_ns = 1, .end_ns = 2});
  }
  writer.Write(CounterConfig{.id = 1,
                             .chip = "GH100",
                             .passes = 34,
                             .metrics = {"smsp__inst_executed.sum", "sm__cycles_active.avg", "dram__bytes.sum"}});
  CounterImage image{.id = 1, .config_id = 1, .bytes = Bytes(20000)};
  for (std::size_t i = 0; i < 300; ++i) image.bytes[i * 67 % 20000] = static_cast<std::uint8_t>(i);
  writer.Write(image);
  for (int id = 1; id <= cases; ++id) {
    writer.Write(Range{
        .id = id,
        .case_id = id,
        .part = id % 2 != 0 ? "" : "pv",
        .name = "mma/1",
        .image_id = id % 2,
        .image_index = id,
        .metrics = {
            {"smsp__inst_executed.sum", 123456.0 + id}, {"sm__cycles_active.avg", 0.5 * id}, {"l1tex__x.pct", 1e300}}});
  }
  WriteCode(writer, cases);
  WriteWork(writer, cases);
  writer.Write(DataLoss{
      .kind = "metric_unavailable", .subject = "pcie__x.sum", .reason = "GH100 does not count it", .count = 2});
  writer.Commit();
}

Bytes ReadBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const fs::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw Error(path.string() + " cannot be written");
}

// The file again on the smallest pages there are: a fuzzer gets through more of a small file.
Bytes OnSmallPages(const fs::path& path) {
  int reserved_bytes = 8;  // per page, for its checksum
  sqlite3* handle = nullptr;
  char* message = nullptr;
  if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK ||
      sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved_bytes) != SQLITE_OK ||
      sqlite3_exec(handle, "PRAGMA page_size=512; VACUUM", nullptr, nullptr, &message) != SQLITE_OK) {
    throw Error("cannot repack " + path.string() + (message != nullptr ? std::string(": ") + message : ""));
  }
  sqlite3_close(handle);
  return ReadBytes(path);
}

void WriteSeeds(const fs::path& directory) {
  const fs::path good = directory / "good";
  const fs::path refused = directory / "refused";
  fs::create_directories(good);
  fs::create_directories(refused);
  const auto write_good = [&](const std::string& name, int cases) {
    store::RecordingWriter writer(good / name, true);
    if (cases > 0) WriteEverything(writer, cases);
    writer.Finish();
    return good / name;
  };
  for (const auto& [name, cases] : {std::pair("bare.fap", 0), std::pair("one.fap", 1), std::pair("many.fap", 40)}) {
    const fs::path path = write_good(name, cases);
    Bytes bytes = OnSmallPages(path);
    SealPages(bytes);
    WriteBytes(path, bytes);
  }
  write_good("one-4096.fap", 1);  // as the writer leaves it
  {
    store::RecordingWriter killed(good / "killed.fap", true);  // never finished: no checksums, and not complete
    WriteEverything(killed, 2);
  }
  fs::rename(good / "killed.fap.part", good / "killed.fap");
  OnSmallPages(good / "killed.fap");

  const Bytes bare = ReadBytes(good / "bare.fap");
  const auto write_refused = [&](const std::string& name, const auto& change) {
    Bytes bytes = bare;
    change(bytes);
    WriteBytes(refused / name, bytes);
  };
  write_refused("tail.fap", [](Bytes& bytes) { bytes.resize(bytes.size() + 512); });
  write_refused("truncated.fap", [](Bytes& bytes) { bytes.resize(bytes.size() - 512); });
  write_refused("changed_page.fap", [](Bytes& bytes) { bytes[2 * 512 + 300] ^= 1; });
  write_refused("unsealed.fap", [](Bytes& bytes) { std::fill_n(bytes.begin() + 512 - 8, 8, std::uint8_t{0}); });
  write_refused("no_room.fap", [](Bytes& bytes) { bytes[20] = 0; });  // says the header
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_recording_corpus DIRECTORY\n");
    return 2;
  }
  try {
    WriteSeeds(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
