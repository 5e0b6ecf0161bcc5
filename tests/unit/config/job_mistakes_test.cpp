// Case B22: configuration is never taken without complaint. The messages are part of the product
// and tested word for word.
#include <catch2/catch.hpp>

#include "config_text.hpp"

namespace sluice::config {

TEST_CASE("a misspelt key is refused with the nearest key and its line", "[config]") {
  CHECK(problems_after_head("task.max = 4") ==
        Lines{"f:4:1: task.max: unknown key; did you mean tasks.max?"});
  CHECK(problems_after_head("errors.deadletterqueue.context.header.enable = true") ==
        Lines{"f:4:1: errors.deadletterqueue.context.header.enable: unknown key; did you mean "
              "errors.deadletterqueue.context.headers.enable?"});
  CHECK(problems_after_head("worker.banana.peel = 1") ==
        Lines{"f:4:1: worker.banana.peel: unknown key, and its beginning is the host's; take it "
              "out"});
}

TEST_CASE("no message has the value of an unknown key", "[config]") {
  const std::string text = R"({"name":"a","topics":"t","connector.class":"file",
    "task.max":"s3cret","errors.x":"s3cret","consumer.overide.a":"s3cret",
    "transforms.q.pass":"s3cret","predicates.p":"s3cret","topic.creation.x":"s3cret"})";
  const auto lines = problems_in(text, Format::Json);
  CHECK(lines.size() == 6);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("no message has the value of a Kafka override, which may be a password", "[config]") {
  LoadOptions options;
  options.kafka_property = [](const std::string&, const std::string&) {
    return std::string{"is no property of librdkafka"};
  };
  const auto job = parse_job(kJobHead + "consumer.override.sasl.passwort = \"s3cret\"",
                             Format::Toml, "f", options);
  REQUIRE_FALSE(job.has_value());
  CHECK(lines_of(job.error()) ==
        Lines{"f:4:1: consumer.override.sasl.passwort: is no property of librdkafka"});
}

TEST_CASE("all problems of a file come at once, in the order of the file", "[config]") {
  CHECK(problems_in("tasks.max = 0\nname = \"a b\"\nslice.max.record = 1\n") ==
        Lines{"f:1:1: tasks.max: must be at least 1, not '0'",
              "f:2:1: name: 'a b' is no name for a job; write 1 to 200 of A-Z a-z 0-9 . _ -, not . "
              "or ..",
              "f:3:1: slice.max.record: unknown key; did you mean slice.max.records?",
              "f: topics: missing; name at least one topic",
              "f: connector.class: missing; name the sink, for example file"});
}

TEST_CASE("credit that no ring or no slice fits into is refused here, not when the job starts",
          "[config]") {
  CHECK(problems_after_head("worker.credit.slices = 769") ==
        Lines{"f:4:1: worker.credit.slices: must be at most 768, not '769'"});
  CHECK(problems_after_head("slice.max.records = 100\nworker.credit.records = 99") ==
        Lines{"f:5:1: worker.credit.records: must be at least slice.max.records, which is 100"});
}

TEST_CASE("an empty file lacks three keys", "[config]") {
  CHECK(problems_in("") == Lines{"f: name: missing; every job has one",
                                 "f: topics: missing; name at least one topic",
                                 "f: connector.class: missing; name the sink, for example file"});
}

TEST_CASE("a text without an origin begins its lines with the key", "[config]") {
  const auto job = parse_job("{}", Format::Json, "");
  REQUIRE_FALSE(job.has_value());
  CHECK(job.error().line(job.error().list()[0]) == "name: missing; every job has one");
}

TEST_CASE("names of jobs follow one rule after trimming", "[config]") {
  const auto refused = [](const std::string& name) {
    return !problems_in("{\"name\":\"" + name + "\",\"topics\":\"t\",\"connector.class\":\"x\"}",
                        Format::Json)
                .empty();
  };
  for (const std::string name : {"a b", "a/b", "a%2Fb", "\xC3\xA4-\xC3\xB6", "a?b", "a#b", ".",
                                 "..", "", "a\\nb", "a\\u0000b"}) {
    CAPTURE(name);
    CHECK(refused(name));
  }
  CHECK(refused(std::string(201, 'x')));
  CHECK_FALSE(refused(std::string(200, 'x')));
  CHECK_FALSE(refused(" lead"));
  CHECK_FALSE(refused("..."));
  CHECK(parse_job("name = \" trail \"\ntopics = \"t\"\nconnector.class = \"x\"", Format::Toml, "f")
            .value()
            .name == "trail");
}

TEST_CASE("a dead letter topic has a topic's name and is none that the job reads", "[config]") {
  const std::string tolerant = "errors.tolerance = \"all\"\n";
  const std::string key = "errors.deadletterqueue.topic.name";
  CHECK(problems_after_head(tolerant + key + " = \"dlq\"").empty());
  CHECK(problems_after_head(tolerant + key + " = \"a b\"") ==
        Lines{"f:5:1: " + key + ": 'a b' is no topic's name; write 1 to 249 of A-Z a-z 0-9 . _ -"});
  CHECK(problems_in("name = \"a\"\nconnector.class = \"x\"\ntopics = [\"t\", \"u\"]\n" + tolerant +
                    key + " = \"u\"") ==
        Lines{"f:5:1: " + key +
              ": is a topic that the job reads: it would read its own dead letters; name another"});
}

TEST_CASE("a dead letter topic without tolerance is worth a warning", "[config]") {
  const std::string topic = kJobHead + "errors.deadletterqueue.topic.name = \"dlq\"\n";
  const auto intolerant = parse_job(topic, Format::Toml, "f");
  REQUIRE(intolerant.has_value());
  CHECK(intolerant->warnings.size() == 1);
  const auto tolerant = parse_job(topic + "errors.tolerance = \"all\"", Format::Toml, "f");
  REQUIRE(tolerant.has_value());
  CHECK(tolerant->warnings.empty());
}

TEST_CASE("topics are named once each, by Kafka's rule", "[config]") {
  const auto refusal = [](const std::string& topics) {
    return problems_in("name = \"a\"\nconnector.class = \"x\"\ntopics = " + topics);
  };
  CHECK(refusal("[]") == Lines{"f:3:1: topics: is empty; name at least one topic"});
  CHECK(refusal("[\"a\", \"b\", \"a\"]") == Lines{"f:3:1: topics: names a twice; take one out"});
  CHECK(refusal("\"a b\"") ==
        Lines{"f:3:1: topics: 'a b' is no topic's name; write 1 to 249 of A-Z a-z 0-9 . _ -"});
  CHECK(refusal("\"a,,b\"") ==
        Lines{"f:3:1: topics: must be a list without empty elements, not 'a,,b'"});
}

TEST_CASE("topics.regex is an expression, beside no list of topics, and not of the dead letters",
          "[config]") {
  const auto refusal = [](const std::string& lines) {
    return problems_in("name = \"a\"\nconnector.class = \"x\"\n" + lines);
  };
  CHECK(refusal("topics.regex = \"FTX-.*\"").empty());
  CHECK(refusal("topics = [\"a\"]\n\"topics.regex\" = \"a.*\"") ==
        Lines{"f:4:1: topics.regex: is given beside topics; take one of them out"});
  REQUIRE(refusal("topics.regex = \"a(\"").size() == 1);
  CHECK(refusal("topics.regex = \"a(\"")[0].starts_with(
      "f:3:1: topics.regex: 'a(' is no regular expression"));
  CHECK(refusal("topics.regex = \"a.*\"\nerrors.tolerance = \"all\"\n"
                "errors.deadletterqueue.topic.name = \"a-dead\"")
            .size() == 1);
}

TEST_CASE("a pattern matches whole names, and never Kafka's own topics (B03)", "[config]") {
  const auto matches = [](const std::string& pattern, const std::string& topic) {
    return TopicPattern::compile(pattern).value().matches(topic);
  };
  CHECK(matches("FTX-.*", "FTX-new"));
  CHECK_FALSE(matches("FTX-.*", "trades-FTX-x"));
  CHECK(matches("FTX", "FTX"));
  CHECK_FALSE(matches("FTX", "FTX-old"));
  CHECK_FALSE(matches("^FTX", "FTX-old"));
  CHECK(matches("(orders|returns)-\\d{2}", "returns-07"));
  CHECK_FALSE(matches(".*", "__consumer_offsets"));
  // A pattern that takes for ever where an engine goes back and forth.
  CHECK_FALSE(matches("(a*)*b", std::string(200, 'a')));
}

TEST_CASE("what is not built yet is refused, never ignored", "[config]") {
  CHECK(problems_after_head("errors.log.enable = true") ==
        Lines{"f:4:1: errors.log.enable: 'true' is not supported yet; write false, or take the key "
              "out"});
  for (const std::string key :
       {"expansion.partitioner", "expansion.history", "predicates", "predicates.p.type",
        "producer.override.acks", "admin.override.acks"}) {
    CAPTURE(key);
    CHECK(problems_after_head("\"" + key + "\" = \"1\"") ==
          Lines{"f:4:1: " + key + ": not supported yet; take the key out"});
  }
}

TEST_CASE("a value that is what happens today anyway is taken", "[config]") {
  CHECK(problems_after_head("slice.on.failure = \"halt\"\nslicer.assignment = \"sticky\"\n"
                            "worker.standby = 0\nrestart.policy = \"none\"\n"
                            "errors.log.enable = false\nconfig.action.reload = \"none\"\n"
                            "errors.deadletterqueue.context.headers.enable = false\n")
            .empty());
}

TEST_CASE("keys of source connectors are refused as such", "[config]") {
  CHECK(problems_after_head("\"offsets.storage.topic\" = \"x\"") ==
        Lines{"f:4:1: offsets.storage.topic: is for source connectors, and Sluice runs sinks; take "
              "the key out"});
}

TEST_CASE("converters that change bytes are refused, naming what is missing", "[config]") {
  const std::string others =
      " is not supported yet; ByteArrayConverter, StringConverter and JsonConverter with "
      "schemas.enable = false are: bytes pass through";
  CHECK(problems_after_head("value.converter = \"io.confluent.connect.avro.AvroConverter\"") ==
        Lines{"f:4:1: value.converter: 'io.confluent.connect.avro.AvroConverter'" + others});
  CHECK(problems_after_head("key.converter = \"JsonConverter\"") ==
        Lines{"f:4:1: key.converter: JSON with schemas is not supported yet; set "
              "key.converter.schemas.enable to false"});
  CHECK(problems_after_head("\"key.converter\" = \"org.apache.kafka.connect.json.JsonConverter\"\n"
                            "\"key.converter.schemas.enable\" = true") ==
        Lines{"f:5:1: key.converter.schemas.enable: 'true' is not supported yet; write false, or "
              "take the key out"});
  CHECK(problems_after_head("key.converter.schemas.enabled = false") ==
        Lines{"f:4:1: key.converter.schemas.enabled: unknown key; did you mean "
              "key.converter.schemas.enable?"});
}

TEST_CASE("converters that pass bytes through are taken", "[config]") {
  CHECK(problems_after_head(
            "\"key.converter\" = \"org.apache.kafka.connect.storage.StringConverter\"\n"
            "\"value.converter\" = \"org.apache.kafka.connect.json.JsonConverter\"\n"
            "\"value.converter.schemas.enable\" = false\nheader.converter = \"ByteArrayConverter\"")
            .empty());
}

TEST_CASE("transforms that do not fit together are refused", "[config]") {
  CHECK(problems_after_head("transforms = [{ name = \"big\" }]") ==
        Lines{"f:4:1: transforms.big.type: missing; name the processor, for example filter"});
  CHECK(problems_after_head("transforms = \"big,big\"\n\"transforms.big.type\" = \"f\"") ==
        Lines{"f:4:1: transforms: names big twice; give each transform a name of its own"});
  CHECK(problems_after_head("transforms = \"big\"\n\"transforms.big.type\" = \"f\"\n"
                            "\"transforms.bgi.type\" = \"f\"") ==
        Lines{"f:6:1: transforms.bgi.type: `transforms` lists no bgi; did you mean big?"});
  CHECK(
      problems_after_head("[transforms.big]\ntype = \"f\"") ==
      Lines{"f:5:1: transforms.big.type: `transforms` lists no big; add it there, or take the key "
            "out"});
  CHECK(problems_after_head("transforms = [{ name = \"b.g\", type = \"f\" }]") ==
        Lines{"f:4:1: transforms: 'b.g' is not a name; write A-Z a-z 0-9 _ -",
              "f:4:31: transforms.b.g.type: `transforms` lists no b; add it there, or take the key "
              "out"});
  CHECK(problems_after_head("transforms = [{ name = \"a\", type = \"f\", predicate = \"p\" }]") ==
        Lines{"f:4:41: transforms.a.predicate: not supported yet; take the key out"});
}

TEST_CASE("a version range is refused until ranges exist", "[config]") {
  CHECK(problems_after_head("connector.plugin.version = \"[1.0,2.0)\"") ==
        Lines{"f:4:1: connector.plugin.version: version ranges are not supported yet; write one "
              "version, or take the key out"});
}

TEST_CASE("the host's own keys take no placeholder", "[config]") {
  CHECK(problems_after_head("tasks.max = \"${env:TASKS}\"") ==
        Lines{"f:4:1: tasks.max: cannot be a ${...}: it is read by the host; write the value "
              "itself"});
}

TEST_CASE("TOML, JSON and .properties agree on a mistake", "[config]") {
  const std::string what = ": task.max: unknown key; did you mean tasks.max?";
  CHECK(problems_in("name='a'\ntopics='t'\nconnector.class='x'\ntask.max=1") ==
        Lines{"f:4:1" + what});
  CHECK(problems_in("name=a\ntopics=t\nconnector.class=x\ntask.max=1", Format::JavaProperties) ==
        Lines{"f:4:1" + what});
  CHECK(
      problems_in("{\"name\":\"a\",\"topics\":\"t\",\n\"connector.class\":\"x\",\n\"task.max\":1}",
                  Format::Json) == Lines{"f:3:1" + what});
}

}  // namespace sluice::config
