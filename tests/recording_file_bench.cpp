// The cost of writing and reading a large recording. Reports; its bounds are generous, so that only a mistake of an
// order of magnitude fails (label `bench`).
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>

#include "fa_profile/recording_file.h"

namespace fa_profile {
namespace {

constexpr int kMetrics = 1837;  // what set "full" gives on GH100
constexpr int kRanges = 1000;
constexpr int kSelected = 60;  // what the catalogue's formulas read

std::string MetricName(int index) {
  return "smsp__some_counter_of_the_chip_" + std::to_string(index) + ".sum.per_cycle";
}

struct Cost {
  double seconds = 0.0;
  double added_mib = 0.0;  // peak resident memory above that of the bare process
};

// Runs `work` in a separate process, whose peak memory is then that of the work.
Cost Measure(const std::function<void()>& work) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    const Cost cost{taken.count(), static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024.0};
    ::_exit(::write(pipe[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  ::close(pipe[1]);  // or a child that died would leave us reading for ever
  Cost cost;
  EXPECT_EQ(::read(pipe[0], &cost, sizeof cost), static_cast<ssize_t>(sizeof cost));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(pipe[0]);
  return cost;
}

void Report(const std::string& what, const Cost& cost) {
  std::printf("%-64s %8.3f s  +%.0f MiB\n", what.c_str(), cost.seconds, cost.added_mib);
}

void WriteLarge(const std::string& path, int ranges_per_commit) {
  store::RecordingWriter writer(path, true);
  for (int id = 1; id <= kRanges; ++id) {
    Case item;
    item.id = id;
    item.kernel = "mma";
    item.shape = AttentionShape{};
    writer.Write(item);
    Timing timing;
    timing.case_id = id;
    timing.method = "graph replay";
    timing.durations_ns.assign(100, 9920.5);
    writer.Write(timing);
    Launch launch;
    launch.id = id;
    launch.case_id = id;
    launch.kernel_name = "void attention_forward<64>(AttentionArguments)";
    writer.Write(launch);
    Range range;
    range.id = id;
    range.case_id = id;
    range.name = "mma/1,8,512,64/" + std::to_string(id);
    // A third of counters are whole numbers, which take less room.
    for (int m = 0; m < kMetrics; ++m) range.metrics[MetricName(m)] = m % 3 == 0 ? id * m : id * 1.37 + m / 7.0;
    writer.Write(range);
    if (id % ranges_per_commit == 0) writer.Commit();
  }
  writer.Finish();
}

class RecordingFileBench : public ::testing::Test {
 protected:
  ~RecordingFileBench() override { std::filesystem::remove(path_); }
  std::string path_ = ::testing::TempDir() + "recording_bench_" + std::to_string(::getpid()) + ".fap";
};

TEST_F(RecordingFileBench, ReadsAndWritesAThousandRangesOfSetFull) {
  for (const int per_commit : {1, 10, 100}) {
    const Cost cost = Measure([&] { WriteLarge(path_, per_commit); });
    Report("write 1,000 ranges x 1,837 metrics, a commit each " + std::to_string(per_commit), cost);
    EXPECT_LT(cost.seconds, 300.0);
  }
  std::printf("%-64s %8.1f MiB\n", "file", static_cast<double>(std::filesystem::file_size(path_)) / (1 << 20));

  store::LoadOptions selected;
  selected.metrics.emplace();
  for (int i = 0; i < kSelected; ++i) selected.metrics->insert(MetricName(i * kMetrics / kSelected));
  const Cost some = Measure([&] {
    const Recording recording = store::RecordingReader(path_).Load(selected);
    if (recording.ranges.size() != kRanges || recording.ranges.back().metrics.size() != kSelected) ::_exit(2);
  });
  Report("load 60 metrics", some);
  EXPECT_LT(some.seconds, 5.0);
  EXPECT_LT(some.added_mib, 300.0);
  Report("load all metrics", Measure([&] { store::RecordingReader(path_).Load(); }));
}

TEST_F(RecordingFileBench, PacksACounterImageOfTenRanges) {
  CounterImage image;
  image.id = 1;
  image.config_id = 1;
  image.bytes.resize(40 << 20);
  for (std::size_t i = 0; i < image.bytes.size(); i += 160)
    image.bytes[i] = static_cast<std::uint8_t>(i * 2654435761U >> 7);
  Report("write an image of 40 MiB, 0.6 % of its bytes not 0", Measure([&] {
           store::RecordingWriter writer(path_, true);
           CounterConfig config;
           config.id = 1;
           writer.Write(config);
           writer.Write(image);
           writer.Finish();
         }));
  std::printf("%-64s %8.2f MiB\n", "file", static_cast<double>(std::filesystem::file_size(path_)) / (1 << 20));
  Report("load it", Measure([&] {
           if (store::RecordingReader(path_).LoadImage(1).bytes != image.bytes) ::_exit(2);
         }));
}

}  // namespace
}  // namespace fa_profile
