// What the group is told of a partition that stands still (S4), against the mock cluster.
#include "host/job/group_committer.hpp"

#include <poll.h>

#include <catch2/catch.hpp>

#include "host/kafka/mock_cluster.hpp"

namespace sluice::job {
namespace {

constexpr int kTimeoutMs = 30'000;
const kafka::TopicPartition kOrders{"orders", 0};

struct Group {
  kafka::MockCluster cluster = kafka::MockCluster::create(1).value();
  std::unique_ptr<kafka::HostClient> client =
      kafka::HostClient::create({{"bootstrap.servers", cluster.bootstrap_servers()}},
                                kafka::IsolationLevel::ReadCommitted)
          .value();
  ManualClock clock;
  GroupCommitter committer{*client, clock, log::Logger::to_stderr(clock, log::Level::Error),
                           "connect-archive", "sluice/1 store 1"};

  Group() { REQUIRE(cluster.create_topic("orders", 1)); }

  std::optional<std::int64_t> committed() {
    return client->committed("connect-archive", {&kOrders, 1}, kTimeoutMs).value().front().offset;
  }
  void settle() {
    for (int turn = 0; turn < 3'000 && !committer.idle(); ++turn) {
      pollfd answered{client->event_fd(), POLLIN, 0};
      ::poll(&answered, 1, 10);  // a commit that is overdue rings no bell
      client->poll();
    }
    REQUIRE(committer.idle());
  }
};

}  // namespace

TEST_CASE("a frontier that does not move is committed every hour, also after a restart (S4)",
          "[job]") {
  Group group;
  group.committer.know(kOrders, 10);
  group.committer.tick();
  group.settle();
  CHECK_FALSE(group.committed());  // somebody may have moved it: that is theirs until then
  group.clock.advance(Milliseconds{3'600'000});
  group.committer.tick();
  group.settle();
  CHECK(group.committed() == 10);
}

}  // namespace sluice::job
