// Slots and their uses.
#include "tunnel/session_streams.h"

#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

TEST(SessionStreams, AStreamIsFoundByItsNumberAndByNoOther) {
  StreamTable table(StreamTable::Slots::PickedHere);
  const StreamId id = table.add().id;

  ASSERT_NE(table.find(id), nullptr);
  EXPECT_EQ(table.find(id)->id, id);
  EXPECT_EQ(table.find(stream_id(slot_of(id), 2)), nullptr);
  EXPECT_EQ(table.find(stream_id(1, 1)), nullptr);
}

TEST(SessionStreams, ASlotThatIsFreeIsUsedBeforeANewOne) {
  StreamTable table(StreamTable::Slots::PickedHere);
  const StreamId first = table.add().id;
  table.add();

  table.remove(*table.find(first));

  EXPECT_EQ(table.add().id, stream_id(0, 2));
  EXPECT_EQ(table.add().id, stream_id(2, 1));
  EXPECT_EQ(table.size(), 3);
}

TEST(SessionStreams, WhatWasUsedIsRememberedWhenMemoryIsGivenBack) {
  StreamTable ours(StreamTable::Slots::PickedHere), peers(StreamTable::Slots::PickedByPeer);
  for (uint32_t slot = 0; slot < 10; ++slot) peers.add(ours.add().id);
  for (uint32_t slot = 0; slot < 10; ++slot) {
    ours.remove(*ours.find(stream_id(slot, 1)));
    peers.remove(*peers.find(stream_id(slot, 1)));
  }

  ours.trim();
  peers.trim();

  EXPECT_EQ(ours.find(stream_id(3, 1)), nullptr);
  EXPECT_TRUE(peers.was_used(stream_id(9, 1)));
  EXPECT_FALSE(peers.was_used(stream_id(9, 2)));
  for (uint32_t slot = 0; slot < 10; ++slot) {
    const StreamId id = ours.add().id;
    EXPECT_EQ(id, stream_id(slot, 2)) << "the lowest first";
    ASSERT_TRUE(peers.is_next(id));
    peers.add(id);
  }
}

TEST(SessionStreams, NothingIsGivenBackWhileAStreamIsThere) {
  StreamTable table(StreamTable::Slots::PickedHere);
  const StreamId id = table.add().id;

  table.trim();

  EXPECT_NE(table.find(id), nullptr);
}

TEST(SessionStreams, UsesGoRoundAndThoseBehindCountAsPast) {
  StreamTable table(StreamTable::Slots::PickedByPeer);
  for (uint32_t use = 1; use <= UINT16_MAX; ++use) {
    table.skip(stream_id(0, static_cast<uint16_t>(use)));
  }

  EXPECT_FALSE(table.is_next(stream_id(0, 0)));
  EXPECT_TRUE(table.is_next(stream_id(0, 1)));
  EXPECT_FALSE(table.was_used(stream_id(0, 1)));
  table.skip(stream_id(0, 1));
  EXPECT_TRUE(table.was_used(stream_id(0, 65'535)));
  EXPECT_FALSE(table.was_used(stream_id(0, 2)));
}

}  // namespace
}  // namespace holdfast::tunnel
