#include <cstdint>
#include <ostream>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "fa_profile/text.h"
#include "fa_profile/trace_report.h"

namespace fa_profile::exporters {
namespace {

// Numbers of fields and enumerators in Perfetto's published definitions,
// https://github.com/google/perfetto/tree/main/protos/perfetto/trace: trace.proto, trace_packet.proto,
// track_event/track_descriptor.proto, counter_descriptor.proto, track_event.proto, debug_annotation.proto.
constexpr protozero::pbf_tag_type kTracePacket = 1;

constexpr protozero::pbf_tag_type kPacketTimestamp = 8;
constexpr protozero::pbf_tag_type kPacketSequenceId = 10;
constexpr protozero::pbf_tag_type kPacketTrackEvent = 11;
constexpr protozero::pbf_tag_type kPacketSequenceFlags = 13;
constexpr protozero::pbf_tag_type kPacketTrackDescriptor = 60;
constexpr std::uint32_t kIncrementalStateCleared = 1;

constexpr protozero::pbf_tag_type kTrackUuid = 1;
constexpr protozero::pbf_tag_type kTrackName = 2;
constexpr protozero::pbf_tag_type kTrackParent = 5;
constexpr protozero::pbf_tag_type kTrackCounter = 8;
constexpr protozero::pbf_tag_type kTrackChildOrdering = 11;
constexpr protozero::pbf_tag_type kTrackSiblingRank = 12;
constexpr protozero::pbf_tag_type kTrackDescription = 14;
constexpr std::int32_t kOrderExplicit = 3;
constexpr protozero::pbf_tag_type kCounterUnitName = 6;

constexpr protozero::pbf_tag_type kEventAnnotation = 4;
constexpr protozero::pbf_tag_type kEventType = 9;
constexpr protozero::pbf_tag_type kEventTrack = 11;
constexpr protozero::pbf_tag_type kEventCategory = 22;
constexpr protozero::pbf_tag_type kEventName = 23;
constexpr protozero::pbf_tag_type kEventDoubleCounter = 44;
constexpr std::int32_t kSliceBegin = 1;
constexpr std::int32_t kSliceEnd = 2;
constexpr std::int32_t kCounterValue = 4;

constexpr protozero::pbf_tag_type kAnnotationInt = 4;
constexpr protozero::pbf_tag_type kAnnotationDouble = 5;
constexpr protozero::pbf_tag_type kAnnotationText = 6;
constexpr protozero::pbf_tag_type kAnnotationName = 10;

/// All packets come from one writer.
constexpr std::uint32_t kSequence = 1;

class PerfettoWriter {
 public:
  explicit PerfettoWriter(std::ostream& out) : out_(out) {}

  /// `parent`: uuid of the track it is below; 0: none.
  void Track(const TimelineTrack& track, std::uint64_t parent, std::int32_t rank) {
    const std::uint64_t uuid = ++tracks_;
    Describe(track, uuid, parent, rank);
    for (const TimelineSlice& slice : track.slices) Slice(slice, uuid);
    for (const TimelinePoint& point : track.points) {
      Event(uuid, point.at_ns, kCounterValue,
            [&](protozero::pbf_writer& event) { event.add_double(kEventDoubleCounter, point.value); });
    }
    std::int32_t next = 0;
    for (const TimelineTrack& below : track.tracks) Track(below, uuid, ++next);
  }

 private:
  template <typename Fill>
  void Packet(const Fill& fill) {
    std::string trace;
    {
      protozero::pbf_writer file(trace);
      protozero::pbf_writer packet(file, kTracePacket);
      packet.add_uint32(kPacketSequenceId, kSequence);
      if (!begun_) packet.add_uint32(kPacketSequenceFlags, kIncrementalStateCleared);
      fill(packet);
    }
    begun_ = true;
    out_ << trace;
  }

  void Describe(const TimelineTrack& track, std::uint64_t uuid, std::uint64_t parent, std::int32_t rank) {
    Packet([&](protozero::pbf_writer& packet) {
      protozero::pbf_writer descriptor(packet, kPacketTrackDescriptor);
      descriptor.add_uint64(kTrackUuid, uuid);
      if (parent != 0) descriptor.add_uint64(kTrackParent, parent);
      descriptor.add_string(kTrackName, SafeLine(track.name));
      if (!track.description.empty()) descriptor.add_string(kTrackDescription, SafeLine(track.description));
      descriptor.add_int32(kTrackSiblingRank, rank);
      descriptor.add_enum(kTrackChildOrdering, kOrderExplicit);
      if (!track.points.empty()) {
        protozero::pbf_writer counter(descriptor, kTrackCounter);
        counter.add_string(kCounterUnitName, SafeLine(track.unit));
      }
    });
  }

  template <typename Fill>
  void Event(std::uint64_t track, std::int64_t at_ns, std::int32_t type, const Fill& fill) {
    Packet([&](protozero::pbf_writer& packet) {
      packet.add_uint64(kPacketTimestamp, static_cast<std::uint64_t>(at_ns));
      protozero::pbf_writer event(packet, kPacketTrackEvent);
      event.add_enum(kEventType, type);
      event.add_uint64(kEventTrack, track);
      fill(event);
    });
  }

  static void Annotate(protozero::pbf_writer& event, const TimelineFact& fact) {
    protozero::pbf_writer annotation(event, kEventAnnotation);
    annotation.add_string(kAnnotationName, fact.first);
    if (const auto* const text = std::get_if<std::string>(&fact.second)) {
      annotation.add_string(kAnnotationText, SafeLine(*text));
    } else if (const auto* const whole = std::get_if<std::int64_t>(&fact.second)) {
      annotation.add_int64(kAnnotationInt, *whole);
    } else {
      annotation.add_double(kAnnotationDouble, std::get<double>(fact.second));
    }
  }

  // A slice ends before its neighbour begins at the same time: readers keep the order of the file.
  void Slice(const TimelineSlice& slice, std::uint64_t track) {
    Event(track, slice.start_ns, kSliceBegin, [&](protozero::pbf_writer& event) {
      event.add_string(kEventCategory, slice.category);
      event.add_string(kEventName, SafeLine(slice.name));
      for (const TimelineFact& fact : slice.facts) Annotate(event, fact);
    });
    for (const TimelineSlice& nested : slice.nested) Slice(nested, track);
    Event(track, slice.start_ns + slice.duration_ns, kSliceEnd, [](protozero::pbf_writer& /*event*/) {});
  }

  std::ostream& out_;
  std::uint64_t tracks_ = 0;
  bool begun_ = false;
};

}  // namespace

void WritePerfetto(std::ostream& out, const Timeline& timeline) {
  PerfettoWriter writer(out);
  std::int32_t rank = 0;
  for (const TimelineTrack& track : timeline.tracks) writer.Track(track, 0, ++rank);
}

}  // namespace fa_profile::exporters
