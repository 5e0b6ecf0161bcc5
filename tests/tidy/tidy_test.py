"""Each rule of tidy catches a bad example and lets a good one pass."""

import unittest

import binaries
import cpp_text
import include_rules
import layout_rules
import source_tree
import tree_rules
import word_rules


def file(path, text):
    return source_tree.SourceFile(path, text)


def problems(rule, path, text):
    return [problem for _, problem in rule(file(path, text))]


def tree(files):
    return [file(path, text) for path, text in files.items()]


class RuleTest(unittest.TestCase):
    def assert_caught(self, rule, path, text, part):
        found = problems(rule, path, text)
        self.assertTrue(any(part in problem for problem in found), f"{part!r} not in {found}")

    def assert_passes(self, rule, path, text):
        self.assertEqual(problems(rule, path, text), [])


class CppTextTest(unittest.TestCase):
    def test_comments_and_literals_are_blanked_and_lines_kept(self):
        text = 'int a; // fork()\n/* fork()\n */ s = "fork()\\"";\nc = \'"\'; n = 1\'000; fork();\n'
        code = cpp_text.code_of(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.count("fork"), 1)
        self.assertIn("n = 1'000; fork();", code)

    def test_a_raw_string_ends_at_its_own_mark(self):
        code = cpp_text.code_of('a = R"x(")" // {{{ )x"; b;')
        self.assertNotIn("{", code)
        self.assertTrue(code.endswith("; b;"))

    def test_functions_are_found_with_their_length(self):
        code = (
            "namespace a {\nclass B final : public C<int()> {\n public:\n  int d() const {\n"
            "    if (e) {\n      f();\n    }\n    auto g = [&](int h) { return h; };\n  }\n};\n}\n"
        )
        found = cpp_text.functions_of(code)
        self.assertEqual([(each.line, each.length) for each in found], [(4, 6)])

    def test_a_table_is_no_function(self):
        self.assertEqual(
            cpp_text.functions_of("constexpr Key kKeys[] = {\n {f(1)},\n {g(2)},\n};\n"), []
        )
        self.assertEqual(
            cpp_text.functions_of("enum class A : int {\n b,\n};\nstruct C {\n int d{};\n};"), []
        )

        table = "constexpr std::array kKeys = std::to_array<Key>({\n {{f(1)},\n &g},\n});\n"
        self.assertEqual(cpp_text.functions_of(table), [])

    def test_a_constructor_is_a_function_however_its_members_begin(self):
        for members in (": b_{b}, c_(d)", ": b_{b}", ": b_(b),\n c_{d},\n e_{f}", ""):
            found = cpp_text.functions_of(f"A::A(int b) {members} {{\n  if (g) {{\n  }}\n}}\n")
            self.assertEqual([each.length for each in found], [4], members)

    def test_words_of_identifiers(self):
        self.assertEqual(cpp_text.words_of("kSliceChunkMax"), ["k", "slice", "chunk", "max"])
        self.assertEqual(cpp_text.words_of("HTTPServer_util2"), ["http", "server", "util2"])


class LayoutTest(RuleTest):
    def test_lengths(self):
        self.assert_caught(layout_rules.lengths, "host/a.cpp", "x\n" * 601, "601 lines")
        self.assert_passes(layout_rules.lengths, "host/a.cpp", "x\n" * 600)
        self.assert_caught(layout_rules.lengths, "host/a.cpp", "x" * 101 + "\n", "101 columns")
        self.assert_passes(layout_rules.lengths, "host/a.cpp", "\u00fc" * 100 + "\n")
        self.assert_passes(layout_rules.lengths, "README.md", "x" * 300 + "\n")

    def test_function_lengths(self):
        body = "  a();\n"
        self.assert_caught(
            layout_rules.function_lengths, "a.cpp", "int f() {\n" + body * 69 + "}\n", "71 lines"
        )
        self.assert_passes(
            layout_rules.function_lengths, "a.cpp", "int f() {\n" + body * 68 + "}\n"
        )
        self.assert_caught(
            layout_rules.function_lengths,
            "a.cpp",
            'TEST_CASE("a", "[b]") {\n' + body * 69 + "}\n",
            "71 lines",
        )

    def test_spaces(self):
        for text, part in (
            ("a \n", "space at the end"),
            ("\ta\n", "tab"),
            ("a\r\n", "carriage"),
            ("a", "no line feed"),
            ("a\n\n", "empty line"),
        ):
            self.assert_caught(layout_rules.spaces, "a.cpp", text, part)
        self.assert_passes(layout_rules.spaces, "a.cpp", "a\n\nb\n")

    def test_names(self):
        self.assert_caught(layout_rules.names, "host/SliceRing.cpp", "", "snake_case")
        self.assert_caught(layout_rules.names, "host/slice-ring.hpp", "", "snake_case")
        self.assert_caught(layout_rules.names, "host/MyFolder/a.cpp", "", "snake_case")
        self.assert_caught(layout_rules.names, "tests/bench/fault_sink.java", "", "PascalCase")
        for path in (
            "host/slice_ring.cpp",
            "tests/bench/FaultSink.java",
            "etc/kafka-libs.sh",
            "CMakeLists.txt",
            ".gitignore",
            "tests/abi/v1_0/abi.h",
            "sdk/sluice-sdk.pc.in",
        ):
            self.assert_passes(layout_rules.names, path, "")

    def test_opening_comment(self):
        good = "// a\n// b\n// c\n#pragma once\n"
        self.assert_passes(layout_rules.opening_comment, "a.hpp", good)
        self.assert_caught(
            layout_rules.opening_comment, "a.hpp", "// a\n#pragma once\n", "opens with 1"
        )
        self.assert_caught(
            layout_rules.opening_comment, "a.hpp", "// a\n" * 13 + "#pragma once\n", "opens with 13"
        )
        self.assert_caught(
            layout_rules.opening_comment, "a.hpp", "// a\n// b\n// c\n", "#pragma once"
        )
        self.assert_passes(layout_rules.opening_comment, "tests/a.hpp", "// a\n#pragma once\n")
        self.assert_caught(layout_rules.opening_comment, "tests/a.hpp", "#pragma once\n", "opens")
        diagram = "// a\n" * 3 + "//    | x |\n" * 20 + "#pragma once\n"
        self.assert_passes(layout_rules.opening_comment, "a.hpp", diagram)
        self.assert_passes(layout_rules.opening_comment, "sdk/include/sluice/abi.h", "/* a */\n")
        self.assert_caught(
            layout_rules.opening_comment, "sdk/include/sluice/abi.h", "int a;\n", "C header"
        )

    def test_todo_numbers(self):
        self.assert_caught(layout_rules.todo_numbers, "a.cpp", "// TO" "DO: later\n", "open end")
        self.assert_caught(layout_rules.todo_numbers, "a.sh", "# FIX" "ME\n", "open end")
        self.assert_passes(layout_rules.todo_numbers, "a.cpp", "// TO" "DO(#12): later\n")


class IncludeTest(RuleTest):
    def assert_library(self, header, good, bad):
        self.assert_passes(include_rules.libraries, good, f"#include <{header}>\n")
        self.assert_caught(include_rules.libraries, bad, f"#include <{header}>\n", "belongs into")
        self.assert_passes(
            include_rules.libraries, "tests/unit/a_test.cpp", f"#include <{header}>\n"
        )

    def test_libraries(self):
        self.assert_library("librdkafka/rdkafka.h", "host/kafka/a.cpp", "host/job/a.cpp")
        self.assert_library("dlfcn.h", "host/worker/a.cpp", "host/plugin_catalog/a.cpp")
        self.assert_library("toml++/toml.h", "host/config/a.cpp", "host/cli/a.cpp")
        self.assert_library("sqlite3.h", "host/state/a.cpp", "host/job/a.cpp")
        self.assert_library("spdlog/spdlog.h", "host/log/a.cpp", "host/job/a.cpp")
        self.assert_library("boost/asio/io_context.hpp", "host/job/a.cpp", "host/slicer/a.cpp")
        self.assert_library("boost/beast.hpp", "host/cli/a.cpp", "host/job/a.cpp")
        self.assert_library("boost/interprocess/mapped_region.hpp", "ipc/a.cpp", "host/state/a.cpp")

    def assert_direction(self, path, good, bad):
        for name in good:
            self.assert_passes(include_rules.directions, path, f"#include {name}\n")
        for name in bad:
            self.assert_caught(include_rules.directions, path, f"#include {name}\n", "includes")

    def test_directions(self):
        self.assert_direction(
            "ipc/a.hpp",
            [
                "<vector>",
                "<sys/mman.h>",
                '"ipc/layout.hpp"',
                "<boost/interprocess/mapped_region.hpp>",
            ],
            ['"host/base/error.hpp"', "<boost/asio.hpp>", "<sluice/abi.h>"],
        )
        self.assert_direction(
            "sdk/include/sluice/abi.h",
            ["<stdint.h>"],
            ["<vector>", "<unistd.h>", "<sluice/sink.hpp>"],
        )
        self.assert_direction(
            "sdk/include/sluice/sink.hpp",
            ["<vector>", "<sluice/abi.h>"],
            ["<boost/json.hpp>", '"host/base/error.hpp"', '"ipc/layout.hpp"'],
        )
        self.assert_direction(
            "plugins/file_sink/a.cpp",
            ["<sluice/sink.hpp>", "<fcntl.h>"],
            ['"host/base/error.hpp"', '"ipc/layout.hpp"', "<boost/json.hpp>"],
        )
        self.assert_direction("host/worker/a.cpp", ["<sluice/abi.h>"], ["<sluice/sink.hpp>"])

    def test_edges_between_folders_of_the_host(self):
        self.assert_direction(
            "host/slicer/a.cpp",
            ['"host/slicer/b.hpp"', '"host/base/error.hpp"', '"host/state/rows.hpp"'],
            ['"host/kafka/reader.hpp"', '"host/state/state_store.hpp"', '"host/log/logger.hpp"'],
        )
        self.assert_direction("host/log/a.cpp", ['"host/base/clock.hpp"'], ['"host/job/job.hpp"'])
        self.assert_direction("host/new_folder/a.cpp", [], ['"host/log/logger.hpp"'])
        self.assert_direction(
            "host/cli/a.cpp", ['"host/job/host.hpp"'], ['"host/worker/plugin_module.hpp"']
        )
        self.assert_direction(
            "host/main.cpp", ['"host/cli/command_line.hpp"'], ['"host/kafka/admin.hpp"']
        )

    def test_a_commented_include_does_not_count(self):
        self.assert_passes(
            include_rules.directions, "ipc/a.hpp", '// #include "host/base/error.hpp"\n'
        )

    def test_every_row_names_folders_that_have_a_row(self):
        for folder, targets in include_rules.HOST_EDGES.items():
            for target in targets:
                self.assertIn(target.split("/")[0], include_rules.HOST_EDGES, folder)

    def test_the_edges_have_no_cycle(self):
        edges = {
            folder: [target for target in targets if "/" not in target]
            for folder, targets in include_rules.HOST_EDGES.items()
        }
        done = set()

        def visit(folder, path):
            self.assertNotIn(folder, path, f"cycle: {path}")
            if folder not in done:
                for target in edges[folder]:
                    visit(target, path + [folder])
                done.add(folder)

        for folder in edges:
            visit(folder, [])


class WordTest(RuleTest):
    def test_banned_words(self):
        for text, part in (
            ("int chunk_size;", "chunk"),
            ("class SlotManager;", "manager"),
            ("struct FooImpl;", "impl"),
            ("pid_t child;", "worker"),
            ("int slice_data;", "data at its end"),
            ("namespace utils {", "utils"),
        ):
            self.assert_caught(word_rules.banned_words, "host/a.cpp", text + "\n", part)
        for text in (
            "// a chunk in prose",
            'f("chunk");',
            "#include <boost/x/impl.hpp>",
            "v.data();",
            "SIGCHLD;",
            "rd_kafka_message_chunk;",
            "int implement;",
            "void* user_data;",
        ):
            self.assert_passes(word_rules.banned_words, "host/a.cpp", text + "\n")
        self.assert_caught(word_rules.banned_words, "host/string_util.cpp", "", "file name")

    def test_words_banned_in_some_folders(self):
        self.assert_caught(
            word_rules.banned_words, "host/slicer/a.cpp", "int consumer;\n", "worker"
        )
        self.assert_passes(word_rules.banned_words, "host/kafka/a.cpp", "int consumer;\n")

    def test_foreign_text(self):
        for text in (
            "cd /wo" "rk/main",
            "/ho" "me/someone/x",
            "deb.debian" ".org",
            "repo1.maven" ".org",
            "pypi" ".org",
            "registry.npmjs" ".org",
        ):
            self.assert_caught(
                word_rules.foreign_text, "etc/a.sh", text + "\n", "no machine's path"
            )
        for text in (
            "a/work/b",
            "/var/lib/sluice",
            "http://maven.apache.org/POM/4.0.0",
            "host/worker/",
        ):
            self.assert_passes(word_rules.foreign_text, "etc/a.sh", text + "\n")

    def test_process_calls(self):
        for text in (
            "if (fork() == 0) {}",
            "::vfork();",
            "std::system(x);",
            "FILE* f = popen(a, b);",
        ):
            self.assert_caught(word_rules.process_calls, "host/a.cpp", text + "\n", "posix_spawn")
        for text in (
            "boost::system::error_code a;",
            "posix_spawn(x);",
            "file_system();",
            "// fork()",
            "a.system();",
            "pthread_atfork(a);",
        ):
            self.assert_passes(word_rules.process_calls, "host/a.cpp", text + "\n")
        self.assert_passes(word_rules.process_calls, "tests/unit/ipc/a_test.cpp", "fork();\n")

    def test_test_names(self):
        for name in ("-1 is taken", "a; b", "~a", "a * b", "a \\\\u b", "a "):
            text = f'TEST_CASE("{name}", "[a]") {{\n'
            self.assert_caught(word_rules.test_names, "tests/unit/a_test.cpp", text, "no dash")
        text = 'TEST_CASE("a, [b] and \\"c\\" -- d", "[a]") {\n'
        self.assert_passes(word_rules.test_names, "tests/unit/a_test.cpp", text)

    def test_sleeps(self):
        self.assert_caught(word_rules.sleeps, "tests/unit/a_test.cpp", "usleep(5);\n", "wait for")
        self.assert_caught(
            word_rules.sleeps, "host/a.cpp", "std::this_thread::sleep_for(x);\n", "wait for"
        )
        self.assert_passes(word_rules.sleeps, "tests/unit/a_test.cpp", "prepare_to_sleep();\n")


class TreeTest(unittest.TestCase):
    def test_sources_are_built(self):
        files = tree(
            {
                "host/a/CMakeLists.txt": "x(SOURCES ring.cpp)",
                "host/a/ring.cpp": "",
                "host/a/spring.cpp": "",
                "host/CMakeLists.txt": "y(main.cpp a/deep/b.cpp)",
                "host/main.cpp": "",
                "host/a/deep/b.cpp": "",
                "plugins/CMakeLists.txt": "bundled_plugin(null_sink)",
                "plugins/null_sink/null_sink.cpp": "",
                "host/a/deep/c.cpp": "",
            }
        )
        self.assertEqual(
            [path for path, _, _ in tree_rules.sources_are_built(files)],
            ["host/a/spring.cpp", "host/a/deep/c.cpp"],
        )

    def test_folders_have_readmes(self):
        files = tree(
            {
                "host/README.md": "",
                "host/a/a.cpp": "",
                "host/b/README.md": "",
                "host/b/b.cpp": "",
                "tests/README.md": "",
                "tests/unit/log/a.cpp": "",
                "sdk/CMakeLists.txt": "",
                ".ci/run": "",
            }
        )
        self.assertEqual(
            [path for path, _, _ in tree_rules.folders_have_readmes(files)],
            ["host/a/README.md", "tests/unit/README.md"],
        )

    def test_top_level_is_fixed(self):
        files = tree(
            {
                "host/a.cpp": "",
                "src/a.cpp": "",
                "CMakeLists.txt": "",
                "NOTE.txt": "",
                ".gitignore": "",
            }
        )
        found = [path for path, _, _ in tree_rules.top_level_is_fixed(files)]
        self.assertEqual(found, ["src", "NOTE.txt"])

    def test_readmes_name_what_exists(self):
        text = "`ring.hpp` `deep/b.cpp` `host/a/ring.hpp` `name.cpp`\n`gone.hpp` `b.sh`\n"
        files = tree({"host/a/README.md": text, "host/a/ring.hpp": "", "host/a/deep/b.cpp": ""})
        found = list(tree_rules.readmes_name_what_exists(files))
        self.assertEqual([line for _, line, _ in found], [2, 2])
        self.assertIn("gone.hpp", found[0][2])


class BinariesTest(unittest.TestCase):
    def test_imports_are_read_from_nm(self):
        listing = "                 U dlopen@GLIBC_2.34\n                 w __gmon_start__\n"
        self.assertEqual(binaries.imports_of(listing), {"dlopen", "__gmon_start__"})
        self.assertIn("dlopen", binaries.BANNED_IMPORTS["sluice"])


if __name__ == "__main__":
    unittest.main()
