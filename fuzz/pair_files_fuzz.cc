// Damaged files of the pair: the witness's record, what a node keeps of the epoch, a quarantine.
// What is read is written back as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "ha/quarantine.h"
#include "ha/record_loader.h"
#include "rpc/epoch_guard.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<ha::Record> record = ha::parse_record(text); record.ok()) {
    HF_CHECK(ha::check_record(*record).ok(), "what can be read can be kept");
    HF_CHECK(ha::record_line(*record) == text, "a record reads back as it was written");
  }
  if (const Result<rpc::KeptEpoch> kept = rpc::parse_kept_epoch(text); kept.ok()) {
    const Result<rpc::KeptEpoch> again = rpc::parse_kept_epoch(rpc::to_text(*kept));
    HF_CHECK(again.ok() && *again == *kept, "an epoch reads back as the same");
  }
  if (const Result<ha::Quarantine> lost = ha::parse_quarantine(text); lost.ok()) {
    const Result<ha::Quarantine> again = ha::parse_quarantine(ha::to_text(*lost));
    HF_CHECK(again.ok() && *again == *lost, "a quarantine reads back as the same");
  }
  return 0;
}
