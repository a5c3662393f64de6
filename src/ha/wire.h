// What the halves say to each other, as messages: src/ha's values to and from proto/pair.proto.
// What comes from a peer is checked here, so that nothing odd gets further.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ha/half.h"
#include "ha/types.h"
#include "ha/witness.h"
#include "holdfast/v1/pair.pb.h"
#include "store/replica.h"

namespace holdfast::ha {

inline constexpr size_t kMaxWords = 256;  // bytes of a name, an address, a version, an id

void set_time(WallTime time, google::protobuf::Timestamp& out);
v1::PairHead to_proto(const Head& head);
Head from_proto(const v1::PairHead& head);
v1::WitnessRecord to_proto(const Record& record);
// kInvalidArgument HF4203 if an id is too long, or the epoch is above kMaxEpoch.
Result<Record> from_proto(const v1::WitnessRecord& record);
v1::PairMember to_proto(Member member);
v1::PairState to_proto(State state);
v1::PairMode to_proto(Mode mode);

v1::BeatSwitch to_proto(const SwitchNews& news);
v1::Beat to_proto(const Beat& beat);
// kInvalidArgument HF4120 for a member, state, mode or epoch there is none of, or a text that is
// too long.
Result<Beat> from_proto(const v1::Beat& beat);

v1::PairEntry to_proto(const store::Entry& entry);
store::Entry from_proto(const v1::PairEntry& entry);
v1::PairItem to_proto(const store::Item& item);
store::Item from_proto(const v1::PairItem& item);
std::vector<store::Tenure> from_proto(
    const google::protobuf::RepeatedPtrField<v1::PairTenure>& tenures);
void add_tenures(const std::vector<store::Tenure>& tenures, size_t at_most,
                 google::protobuf::RepeatedPtrField<v1::PairTenure>& out);

v1::ChangeRecordRequest to_proto(const RecordChange& change);
Result<RecordChange> from_proto(const v1::ChangeRecordRequest& request);

}  // namespace holdfast::ha
