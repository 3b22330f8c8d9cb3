#include "fa_profile/exporter.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>
#include <stdexcept>

#include "fa_profile/sources.h"

namespace fa_profile::serve::exporter_test {
namespace {

class ExporterTest : public testing::Test {
 protected:
  ExporterTest() {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~ExporterTest() override { spdlog::set_default_logger(before_); }

  void Serve(std::vector<Source> sources) {
    exporter_ = std::make_unique<Exporter>(ServeOptions{}, std::move(sources), Ledger(), nullptr);
  }

  web::WebReply Get(const std::string& path) const {
    web::WebRequest request;
    request.path = path;
    return exporter_->Answer(request);
  }
  std::string Text(const std::string& path) const { return *Get(path).body; }

  std::unique_ptr<Exporter> exporter_;
  std::ostringstream log_;

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

// One more launch of a kernel at each collection.
Source Launches() {
  return {"launches", [](Collection& collection) {
            Totals more;
            more.gpus[0].kernels["k"].shapes["none"].launches = 1;
            ExporterState next = collection.sums.state();
            Merge(next.totals, more);
            collection.sums.Commit(std::move(next));
            return std::string();
          }};
}

TEST_F(ExporterTest, AFailingSourceIsNamedAndTakesNothingElseAway) {
  bool fails = true;
  const Source fake{"fake", [&](Collection&) -> std::string {
                      if (fails) throw Error("no answer", "plug it in");
                      return {};
                    }};
  Serve({fake, Launches()});
  EXPECT_EQ(Get("/metrics").status, 503);
  exporter_->Collect();
  exporter_->Collect();
  ASSERT_EQ(Get("/metrics").status, 200);
  const std::string page = Text("/metrics");
  EXPECT_NE(page.find("faprof_exporter_up{collector=\"fake\"} 0\n"), std::string::npos) << page;
  EXPECT_NE(page.find("faprof_exporter_up{collector=\"launches\"} 1\n"), std::string::npos) << page;
  EXPECT_NE(page.find("faprof_kernel_launches_total{gpu=\"0\",kernel=\"k\",shape=\"none\"} 2\n"), std::string::npos)
      << page;
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Text("/readyz"), "not ready: fake: no answer; plug it in\n");
  EXPECT_EQ(Get("/healthz").status, 200);
  const std::string log = log_.str();
  EXPECT_NE(log.find("fake: no answer; plug it in"), std::string::npos) << log;
  EXPECT_EQ(log.find("fake: no answer"), log.rfind("fake: no answer")) << "changes are logged, not collections";

  fails = false;
  exporter_->Collect();
  EXPECT_NE(Text("/metrics").find("faprof_exporter_up{collector=\"fake\"} 1\n"), std::string::npos);
  EXPECT_EQ(Text("/readyz"), "ready\n");
  EXPECT_NE(log_.str().find("fake: works again"), std::string::npos);
}

TEST_F(ExporterTest, AnyExceptionIsTheSourcesOwn) {
  Serve({{"fake", [](Collection&) -> std::string { throw std::runtime_error("out of luck"); }}});
  exporter_->Collect();
  EXPECT_EQ(Get("/metrics").status, 200);
  EXPECT_EQ(Text("/readyz"), "not ready: fake: out of luck\n");
}

TEST_F(ExporterTest, ASourceThatLacksSomethingIsDownAndLeavesItReady) {
  Serve({{"fake", [](Collection&) -> std::string { return "a.fap: permission denied"; }}});
  exporter_->Collect();
  EXPECT_NE(Text("/metrics").find("faprof_exporter_up{collector=\"fake\"} 0\n"), std::string::npos);
  EXPECT_EQ(Text("/readyz"), "ready\n");
}

TEST_F(ExporterTest, TheGpusAloneMakeItReady) {
  HostReading host;
  host.nvml = true;
  host.gpus.emplace_back().up = true;
  Serve({NvmlSource([host] { return host; }, 15)});
  EXPECT_EQ(Text("/readyz"), "not ready: nothing was collected yet\n");
  exporter_->Collect();
  EXPECT_NE(Text("/metrics").find("faprof_device_up{gpu=\"0\"} 1\n"), std::string::npos);
  EXPECT_EQ(Text("/readyz"), "ready\n");
}

TEST_F(ExporterTest, GpusThatCannotBeReadAreNotReady) {
  HostReading host;
  host.nvml_error = "no driver";
  Serve({NvmlSource([host] { return host; }, 15)});
  exporter_->Collect();
  EXPECT_EQ(Get("/metrics").status, 200);
  EXPECT_EQ(Text("/readyz"), "not ready: nvml: no driver; on a host without NVIDIA GPUs use serve --no-nvml\n");
}

}  // namespace
}  // namespace fa_profile::serve::exporter_test
