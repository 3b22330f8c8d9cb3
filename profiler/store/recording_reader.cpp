#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "open_recording.h"
#include "part_reader.h"
#include "value_limits.h"

namespace fa_profile::store {

struct RecordingReader::Impl {
  std::vector<std::uint8_t> bytes;  // for a recording in memory; outlives the connection
  OpenedRecording file;

  // Every call may read the whole file once.
  Connection& Begin() {
    file.connection->SetLimits(file.size_bytes, store::kMaxCodeBytes);
    return *file.connection;
  }
};

RecordingReader::RecordingReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->file = OpenRecording(path);
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;

RecordingReader RecordingReader::FromBytes(std::span<const std::uint8_t> bytes) {
  auto impl = std::make_unique<Impl>();
  impl->bytes.assign(bytes.begin(), bytes.end());
  impl->file = OpenRecordingBytes(impl->bytes);
  return RecordingReader(std::move(impl));
}

Recording RecordingReader::Load(const LoadOptions& options) const {
  Recording recording;
  TableReader tables(impl_->Begin());
  recording.schema_version = tables.connection().schema_version();
  const std::vector<MetricName> metrics = LoadMetricNames(tables);
  tables.LoadIds(TableOf<CounterImage>::kTable);  // ranges refer to them
  recording.session = tables.LoadOne<Session>();
  recording.device = tables.LoadOne<Device>();
  ForEachList(recording, [&]<typename Record>(std::vector<Record>& list) {
    if (TableOf<Record>::kTable.since > recording.schema_version) return;
    list = LoadRecords<Record>(tables, {metrics, options, recording});
  });
  return recording;
}

CounterImage RecordingReader::LoadImage(std::int64_t id) const {
  Connection& connection = impl_->Begin();
  RowReader<CounterImage> rows(connection, " WHERE id = ?");
  rows.Bind(id);
  CounterImage image;
  if (!rows.Next(image)) {
    throw Error(connection.path() + " has no counter data image " + std::to_string(id),
                "the raw counter data of this range was not kept");
  }
  RequireValid(connection, image);
  return image;
}

std::vector<std::int64_t> RecordingReader::ImageIds() const {
  return TableReader(impl_->Begin()).LoadIds(TableOf<CounterImage>::kTable);
}

}  // namespace fa_profile::store
