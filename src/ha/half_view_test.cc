// What operators are told of a half and of its witness.
#include "ha/half.h"
#include "ha/half_fixture.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ViewOfPrimary : public HalfTest {
 protected:
  explicit ViewOfPrimary(Member me = Member::Primary) : HalfTest(me) {}

  std::vector<std::string> codes() const {
    std::vector<std::string> codes;
    for (const Status& one : half_->problems(now_)) codes.push_back(code(one));
    return codes;
  }
  std::string text_of(std::string_view wanted) const {
    for (const Status& one : half_->problems(now_)) {
      if (code(one) == wanted) return std::string(one.message());
    }
    return "";
  }
  // A probe's time with beats, and the own witness's answer at its end.
  void probe(const Result<WitnessAnswer>& said) {
    for (int i = 0; i < 20; ++i) exchange();
    half_->note_witness(said, now_);
  }
  static Status full() {
    return coded(absl::StatusCode::kUnavailable, "HF4205",
                 "the witness cannot write its record: No space left on device");
  }
};
class ViewOfBackup : public ViewOfPrimary {
 protected:
  ViewOfBackup() : ViewOfPrimary(Member::Backup) {}
};

TEST_F(ViewOfBackup, AWitnessWithAnotherRecordThanTheActiveHalfsIsAProblem) {
  follow();
  probe(WitnessAnswer{.current = {}});
  EXPECT_THAT(codes(), IsEmpty()) << "it may be about to be told";
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("the backup takes over"));

  for (int i = 0; i < 3; ++i) probe(WitnessAnswer{.current = {}});

  EXPECT_EQ(half_->witness_record(), Record());
  EXPECT_THAT(codes(), ElementsAre("HF4127"));
  EXPECT_THAT(text_of("HF4127"), AllOf(HasSubstr("has no record"), HasSubstr("of epoch 1: is")));
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("nobody takes over: the witness that the "));

  probe(WitnessAnswer{.current = witness_});
  EXPECT_THAT(codes(), IsEmpty());
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("the backup takes over"));
}

TEST_F(ViewOfBackup, ARecordThatChangedOnItsWayIsNoProblem) {
  follow();
  for (int i = 0; i < 6; ++i) {
    probe(WitnessAnswer{.current = i % 2 == 0 ? Record() : witness_});
    EXPECT_THAT(codes(), IsEmpty());
  }
}

TEST_F(ViewOfPrimary, AWitnessThatAnswersWithAnErrorIsNotCalledSilent) {
  lead();
  take(half_->on_witness_silent(uint64_t{1} << 63 | 7, now_));
  half_->note_witness(full(), now_);

  EXPECT_THAT(codes(), ElementsAre("HF4205"));
  EXPECT_THAT(text_of("HF4205"), HasSubstr("No space left"));
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("can do what it is asked: HF4205"));

  probe(WitnessAnswer{.current = witness_});
  EXPECT_THAT(codes(), Contains("HF4205")) << "to read is not to write";
  probe(WitnessAnswer{.accepted = true, .current = witness_});
  EXPECT_THAT(codes(), Not(Contains("HF4205")));
}

TEST_F(ViewOfPrimary, AnErrorOfTheWitnessIsForgottenWhenNothingIsAskedOfItAnyMore) {
  lead();
  half_->note_witness(full(), now_);
  for (int i = 0; i < 29; ++i) probe(WitnessAnswer{.current = witness_});
  EXPECT_THAT(codes(), ElementsAre("HF4205"));
  for (int i = 0; i < 2; ++i) probe(WitnessAnswer{.current = witness_});
  EXPECT_THAT(codes(), IsEmpty());
}

TEST_F(ViewOfPrimary, AWitnessThatCannotBeReachedIsSilentWhateverItSaidBefore) {
  lead();
  half_->note_witness(full(), now_);
  take(half_->on_witness_silent(uint64_t{1} << 63 | 7, now_));
  half_->note_witness(absl::UnavailableError("connection refused"), now_);
  EXPECT_THAT(codes(), ElementsAre("HF4111"));
}

TEST_F(ViewOfPrimary, HowLongNobodyConfirmedIsSaidAsItIs) {
  lead();
  pass(21s);
  ASSERT_TRUE(half_->is_active()) << "the witness has not answered";
  EXPECT_THAT(text_of("HF4107"), HasSubstr("the backup has not confirmed for 21"));
}

TEST_F(ViewOfBackup, AHalfThatLacksNothingAndIsNotInSyncSaysWhatIsMissing) {
  follow();
  peers_.in_sync = false;
  hear();
  EXPECT_THAT(text_of("HF4109"), HasSubstr("has not yet confirmed what was written last"));
  peers_.facts.head.revision += 1;
  hear();
  EXPECT_THAT(text_of("HF4109"), testing::EndsWith("it lacks 1 revision"));
}

}  // namespace
}  // namespace holdfast::ha
