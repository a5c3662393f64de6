// The rows of HF4nnn: the pair of controllers (HF41nn), its witness (HF42nn), fencing (HF43nn).
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

// code, title, what it means, what to do.
constexpr ReasonInfo kPairReasons[] = {
    {"HF4101", "this half is not the active one",
     "It is half of a pair and the other half serves; the message says where that is.",
     "nothing: clients follow by themselves; name both halves with --server A,B"},
    {"HF4102", "the other half is not there", "It is silent, or its process is gone.",
     "bring it back; see what would be lost without it with `holdfast ha status`"},
    {"HF4103", "the epoch is over",
     "A half sent what belongs to a tenure that another one has ended.",
     "nothing: it learns who is active and follows"},
    {"HF4104", "no switchover now",
     "The half that is asked is not active, or the other is not in sync with it.",
     "see what is missing with `holdfast ha status`, and try again when it is in sync"},
    {"HF4105", "no half is active",
     "Neither half may serve yet: they have not heard each other, or the witness.",
     "wait some seconds; then see why with `holdfast ha status` on both"},
    {"HF4106", "two halves of the same kind", "Both are configured as primary, or both as backup.",
     "set ha.role to backup on one of them and restart it"},
    {"HF4107", "not confirmed as active",
     "The other half has not confirmed lately that this one is active, so it answers no reads.",
     "look at the link between the two: it serves again by itself. If the other half is lost: with "
     "a witness bring that back, and this one goes on alone; in mode sync, or if the witness is "
     "lost too, `holdfast ha promote --force` here"},
    {"HF4108", "handing over", "A switchover is under way; the other half takes the writes.",
     "nothing: clients follow by themselves"},
    {"HF4109", "the pair is not in sync",
     "The passive half lacks writes. In mode sync no write is taken until it has them.",
     "see how far it is with `holdfast ha status`; bring it back if it is gone"},
    {"HF4110", "times that do not fit together",
     "The times of the pair (ha.beat, ha.lease, ha.drop, ha.take, ha.vote_patience) contradict "
     "each other.",
     "leave them at their defaults, or change the two that are named"},
    {"HF4111", "the witness does not answer",
     "The pair goes on as it is, but neither half can take over from the other, nor go on without "
     "it: if a half is lost now, nobody serves.",
     "bring the witness back, or look at the way to it; if it and the other half are lost, see "
     "that "
     "this one has everything with `holdfast ha promote`, then add --force"},
    {"HF4112", "versions too far apart",
     "What one half writes the other cannot read; nothing is replicated between them.",
     "upgrade the older half: each version works with the one before it"},
    {"HF4113", "two modes", "The halves are configured for different modes of the pair.",
     "give both the same ha.mode and restart the one that is wrong"},
    {"HF4114", "a copy did not help",
     "The passive half took a whole copy, and its history still does not lead into the other's.",
     "stop it, move its data folder aside and start it; report it with both logs"},
    {"HF4115", "nobody knows what became of a write",
     "It is on the disk of the half that was active, and the other half did not acknowledge it in "
     "time: it may turn out to have happened.",
     "read what there is now, and do it again if it is not there"},
    {"HF4116", "a file of a divergence is broken",
     "Its text was cut or altered, so it is not used.",
     "copy the file from the folder `divergence` if you want to read it; `ha divergence discard` "
     "deletes it"},
    {"HF4117", "the other half's disk does not take what it is sent",
     "It is there, and what it is sent does not get to its disk, which may be full or broken. With "
     "a witness the pair goes on without it; in mode sync no write is taken.",
     "make room on its disk, or mend it; it catches up by itself"},
    {"HF4118", "the witness does not know of this tenure yet",
     "A half was promoted by force, or began, while the witness was away. What it acknowledges is "
     "on "
     "its own disk alone, and nobody takes over from it.",
     "bring the witness back: the active half tells it by itself"},
    {"HF4119", "a store that lost cannot be set aside",
     "The other half's history takes the place of this one's, which is kept whole in the folder "
     "`divergence` first. That failed, or too many wait there for a decision, so nothing was taken "
     "or changed.",
     "make room on the disk of this half, as much as its store.db has, or discard a divergence; it "
     "goes on by itself"},
    {"HF4120", "a beat that makes no sense", "The other half sent what no half would.",
     "see that both run Holdfast, in versions next to each other"},
    {"HF4121", "two halves with one name", "Both controllers have the same name.",
     "give each its own with --name"},
    {"HF4122", "no half of a pair", "This controller works on its own.",
     "see ha.peer in the documentation of the configuration"},
    {"HF4123", "the pair is begun elsewhere",
     "A cluster is made at the primary of a pair, once; the other half joins it.",
     "run `holdfast init` at the primary; at the other half, `holdfast join` with a token of role "
     "controller"},
    {"HF4124", "an empty half is not promoted",
     "It never had a copy of the pair's data: promoted, it would serve nothing, and the other "
     "half, "
     "when it comes back, would be replaced by that.",
     "promote or start the other half; if that one is gone for good, add --lose-the-other-half"},
    {"HF4125", "a half that is not in sync is not promoted",
     "By the witness's record, or the last this half heard of it, clients were told of writes that "
     "this half lacks.",
     "bring the other half back, it goes on by itself; if it is gone for good, add "
     "--lose-the-other-half"},
    {"HF4126", "a half's own disk takes no writes",
     "It is full, or broken. An active half answers reads and refuses every write; a passive one "
     "falls behind.",
     "if the half is active and the other in sync, `holdfast ha switchover`; then make room on it"},
    {"HF4127", "this half's witness is not the other's",
     "What the witness says that this half asks is not what the active half was told: most likely "
     "they ask two. This half cannot take over then.",
     "give both halves the same ha.witness and restart the one that is wrong"},
    {"HF4128", "two timings",
     "The halves are configured with different ha.lease or ha.take. Reads stay right, since each "
     "goes by the shorter one, but a half may answer nobody (HF4107) between two beats.",
     "give both halves the same times, best their defaults, and restart the one that is wrong"},
    {"HF4130", "a forced promotion loses what the other half knows alone",
     "Nothing was done. What the other half acknowledged and this one has not heard of is lost to "
     "clients; when that half comes back, its whole store is set aside on its disk before it takes "
     "a "
     "copy of this one.",
     "see that the other half is off, then add --force; use switchover if it is there"},
    {"HF4131", "no such divergence", "No file of that name waits for a decision on this half.",
     "list them with `holdfast ha divergence`"},
    {"HF4201", "another was faster at the witness",
     "Its record has changed since it was read; the half reads it again.", "nothing"},
    {"HF4202", "the witness refuses",
     "The half that would be active may lack acknowledged writes, or has another disk.",
     "bring the other half back; `holdfast ha promote --force` if it is lost for good"},
    {"HF4203", "a record that makes no sense",
     "A half asked the witness for what it never keeps, such as an epoch far above all before it.",
     "see that halves and witness are of versions next to each other"},
    {"HF4204", "the witness's record is damaged", "Its file was cut or altered.",
     "restore the file; or remove it while both halves run and are in sync"},
    {"HF4205", "the witness cannot write",
     "Its disk does not take the record. It says what it has, but nobody can take over, or go on "
     "without the other half. Its own /readyz says so, too, until a record is written.",
     "make room on its disk, or mend its permissions"},
    {"HF4206", "the witness has no record of the pair",
     "It is new, or lost its disk, or the mode of the pair was another before, and no half was "
     "active meanwhile: neither can know whether it has all that was acknowledged.",
     "see with `holdfast ha status` which half has the higher epoch and revision, and run "
     "`holdfast ha promote --force` there"},
    {"HF4207", "the witness's record is older than the pair",
     "It was restored from an old copy, or missed a promotion by force, and no half is active to "
     "tell "
     "it: by such a record nobody begins, since it does not know who has everything.",
     "see with `holdfast ha status` which half has the higher epoch and revision, and run "
     "`holdfast ha promote --force` there"},
    {"HF4301", "the caller knows a later epoch",
     "It has seen another half be active after this one, which therefore asks before it answers.",
     "nothing: clients find the active half by themselves"},
    {"HF4302", "a controller whose time is over",
     "A node has seen a later epoch than the controller speaks for, and does nothing it says.",
     "nothing, if it was down and comes back, or if the disk of the other half was replaced: the "
     "pair "
     "begins a later epoch by itself once it is in sync; to go back to a single controller for "
     "good, "
     "stop the node and delete the file `epoch` in its data folder"},
    {"HF4303", "the epoch on disk cannot be read",
     "The file `epoch` in the node's data folder was cut or altered, so it does not start.",
     "delete the file if no controller can come back from an earlier epoch, and start the node"},
    {"HF4304", "the epoch cannot be kept",
     "A node could not write a new epoch to its disk, and acts on nothing of it until it can.",
     "make room in its data folder, or mend its permissions"},
};

}  // namespace

std::span<const ReasonInfo> pair_reasons() {
  return kPairReasons;
}

}  // namespace holdfast::cli
