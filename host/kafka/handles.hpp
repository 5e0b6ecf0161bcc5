// Owners of librdkafka's objects, so that no header of this folder includes rdkafka.h and no
// destroy call is written by hand. A Handle frees what it owns with the matching
// rd_kafka_*_destroy; the order between handles (queues and topics before their client) is the
// order of members in the classes.
#pragma once

#include <memory>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_message_s rd_kafka_message_t;
typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;
typedef struct rd_kafka_mock_cluster_s rd_kafka_mock_cluster_t;

namespace sluice::kafka {

struct HandleDeleter {
  void operator()(rd_kafka_t* client) const noexcept;
  void operator()(rd_kafka_topic_t* topic) const noexcept;
  void operator()(rd_kafka_queue_t* queue) const noexcept;
  void operator()(rd_kafka_topic_partition_list_t* list) const noexcept;
  void operator()(rd_kafka_mock_cluster_t* cluster) const noexcept;
};

template <typename Object>
using Handle = std::unique_ptr<Object, HandleDeleter>;

}  // namespace sluice::kafka
