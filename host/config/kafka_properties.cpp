#include "host/config/kafka_properties.hpp"

#include <algorithm>
#include <array>

namespace sluice::config {
namespace {

struct Renamed {
  std::string_view java;
  std::string_view librdkafka;
};

// Same unit, same meaning of every value that both take.
constexpr auto kRenamed = std::to_array<Renamed>({
    {"fetch.max.wait.ms", "fetch.wait.max.ms"},
    {"receive.buffer.bytes", "socket.receive.buffer.bytes"},
    {"send.buffer.bytes", "socket.send.buffer.bytes"},
    {"request.timeout.ms", "socket.timeout.ms"},
});

struct Refused {
  std::string_view name;
  std::string_view why;
};

constexpr auto kHostOwned = std::to_array<Refused>({
    {"group.id", "the host commits to the group connect-NAME"},
    {"group.instance.id", "workers join no group; the host assigns partitions"},
    {"group.protocol", "workers join no group; the host assigns partitions"},
    {"partition.assignment.strategy", "the host assigns partitions: slicer.assignment"},
    {"session.timeout.ms", "workers join no group: task.call.timeout.ms is the deadline"},
    {"heartbeat.interval.ms", "workers join no group: task.call.timeout.ms is the deadline"},
    {"max.poll.interval.ms", "workers join no group: task.call.timeout.ms is the deadline"},
    {"enable.auto.commit", "the host commits what is settled"},
    {"auto.commit.enable", "the host commits what is settled"},
    {"auto.commit.interval.ms", "the host commits what is settled"},
    {"enable.auto.offset.store", "the host commits what is settled"},
    {"enable.partition.eof", "slices end by it"},
    {"allow.auto.create.topics", "a host that reads a topic never creates it"},
    {"log.queue", "the host reads the client's log lines"},
    {"plugin.library.paths", "no foreign code is loaded into a Kafka client"},
    {"ssl.engine.location", "no foreign code is loaded into a Kafka client"},
    {"enabled_events", "the host serves the client's events"},
    {"transactional.id", "the host names transactions"},
});

constexpr auto kJavaOnly = std::to_array<Refused>({
    {"max.poll.records", "write worker.batch.max.records in the job"},
    {"default.api.timeout.ms", "write socket.timeout.ms"},
    {"socket.connection.setup.timeout.max.ms", "write socket.connection.setup.timeout.ms"},
    {"exclude.internal.topics", "topics are named by `topics`"},
    {"interceptor.classes", "there are no interceptors; a processor can see every record"},
    {"key.deserializer", "records are bytes"},
    {"value.deserializer", "records are bytes"},
    {"metric.reporters", "metrics are at /metrics"},
    {"metrics.num.samples", "metrics are at /metrics"},
    {"metrics.recording.level", "metrics are at /metrics"},
    {"metrics.sample.window.ms", "metrics are at /metrics"},
    {"auto.include.jmx.reporter", "metrics are at /metrics"},
    {"enable.metrics.push", "metrics are at /metrics"},
    {"sasl.jaas.config", "write sasl.username and sasl.password"},
    {"sasl.login.class", "write sasl.mechanism with sasl.username and sasl.password"},
    {"sasl.login.callback.handler.class", "write sasl.mechanism and its properties"},
    {"sasl.client.callback.handler.class", "write sasl.mechanism and its properties"},
    {"ssl.truststore.location", "write ssl.ca.location, a PEM file"},
    {"ssl.truststore.password", "write ssl.ca.location, a PEM file without a password"},
    {"ssl.truststore.type", "write ssl.ca.location, a PEM file"},
    {"ssl.truststore.certificates", "write ssl.ca.pem"},
    {"ssl.keystore.type", "write ssl.keystore.location, a PKCS#12 file"},
    {"ssl.keystore.key", "write ssl.key.pem"},
    {"ssl.keystore.certificate.chain", "write ssl.certificate.pem"},
    {"ssl.protocol", "OpenSSL chooses the newest protocol"},
    {"ssl.enabled.protocols", "OpenSSL chooses the newest protocol"},
    {"ssl.provider", "write ssl.providers"},
    {"ssl.trustmanager.algorithm", "OpenSSL does this"},
    {"ssl.keymanager.algorithm", "OpenSSL does this"},
    {"ssl.secure.random.implementation", "OpenSSL does this"},
    {"ssl.engine.factory.class", "OpenSSL does this"},
    {"security.providers", "OpenSSL does this"},
});

/// Of a job only: the host has them in its own file.
constexpr auto kOfTheHost = std::to_array<Refused>({
    {"bootstrap.servers", "a job reads the cluster of the host's [kafka]"},
    {"metadata.broker.list", "a job reads the cluster of the host's [kafka]"},
});

/// Of [kafka] only: they belong to one job.
constexpr auto kOfAJob = std::to_array<Refused>({
    {"auto.offset.reset", "write consumer.override.auto.offset.reset in the job"},
    {"isolation.level", "write consumer.override.isolation.level in the job"},
});

template <typename Table>
const Refused* find_in(const Table& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Refused& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

PropertyVerdict refused(std::string_view what, std::string_view why) {
  return {{}, std::string{what} + ": " + std::string{why} + "; take the key out"};
}

}  // namespace

PropertyVerdict judge_property(KafkaClient client, std::string_view name) {
  if (name.empty()) return {{}, "names no property; take the key out"};
  if (name.ends_with("_cb") || name == "opaque") {
    return refused("is a function of the client's program", "no text can be one");
  }
  const Refused* const elsewhere =
      client == KafkaClient::Job ? find_in(kOfTheHost, name) : find_in(kOfAJob, name);
  if (elsewhere != nullptr) return refused("cannot be set here", elsewhere->why);
  if (const auto* row = find_in(kHostOwned, name)) return refused("belongs to the host", row->why);
  if (const auto* row = find_in(kJavaOnly, name)) {
    return {{}, "is Java's, librdkafka has no such property: " + std::string{row->why}};
  }
  const auto renamed = std::find_if(kRenamed.begin(), kRenamed.end(),
                                    [&](const Renamed& row) { return row.java == name; });
  return {std::string{renamed == kRenamed.end() ? name : renamed->librdkafka}, {}};
}

}  // namespace sluice::config
