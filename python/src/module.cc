// The extension module feedmill._feedmill. The Python package around it defines
// the names, defaults and docstrings that users see.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/graph_text.h"
#include "core/net/log.h"
#include "core/ops/shown_bytes.h"
#include "core/ops/thumbnail.h"
#include "core/python/example_call.h"
#include "feedmill/dataset.h"
#include "feedmill/dispatcher.h"
#include "feedmill/token.h"
#include "feedmill/worker.h"
#include "python/src/cluster.h"
#include "python/src/function_names.h"
#include "python/src/gil.h"
#include "python/src/loader.h"
#include "python/src/pipeline.h"
#include "python/src/process.h"
#include "python/src/reader.h"
#include "python/src/servers.h"
#include "python/src/status.h"

// Called for each object of static storage in the extension, to have exit()
// destroy it. Readers and servers that live as long as the interpreter have
// threads, which use such objects until the process ends. So none is destroyed.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept {
  return 0;
}

namespace feedmill::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

using Dispatcher = PythonServer<DispatchServer>;
using Worker = PythonServer<WorkerServer>;

// Returns the value of one of a few words.
template <class E>
E ValueOfWord(std::string_view option, const std::string& word,
              std::initializer_list<std::pair<std::string_view, E>> values) {
  std::string expected;
  size_t left = values.size();
  for (const auto& [known, value] : values) {
    if (known == word) return value;
    const std::string_view after = --left > 1 ? ", " : left == 1 ? " or " : "";
    expected += fmt::format("\"{}\"{}", known, after);
  }
  Raise(InvalidArgument("{} \"{}\": expected {}", option, word, expected));
}

// Returns the object, which any thread may drop.
std::shared_ptr<PyObject> Shared(const nb::object& object) {
  return {nb::object(object).release().ptr(), [](PyObject* held) {
            const GilHold gil;
            EnterPython([held] { Py_DECREF(held); });
          }};
}

// Returns a RankOptions::agree that calls a Python function. An exception of
// the function stays set (PythonReader::CheckEnd).
std::function<absl::StatusOr<RanksWithElement>(bool have)> AgreeOf(
    const nb::object& agree) {
  if (agree.is_none()) return nullptr;
  return [function =
              Shared(agree)](bool have) -> absl::StatusOr<RanksWithElement> {
    const GilHold gil;
    try {
      const auto [all, any] = nb::cast<std::pair<bool, bool>>(
          CallPython(function.get(), nb::bool_(have)));
      return RanksWithElement{.all = all, .any = any};
    } catch (nb::python_error& error) {
      error.restore();
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError,
                      "agree: expected two bools, (all_have, any_have)");
    }
    return Cancelled("agree raised an exception");
  };
}

// Returns a ReadHooks::on_wait that calls a Python function. Its exceptions are
// printed: the read continues.
std::function<void(const ReadWait&)> OnWaitOf(const nb::object& on_wait) {
  if (on_wait.is_none()) return nullptr;
  return [function = Shared(on_wait)](const ReadWait& wait) {
    const GilHold gil;
    try {
      CallPython(function.get(), nb::cast(wait.what),
                 nb::float_(absl::ToDoubleSeconds(wait.waited)));
    } catch (nb::python_error& error) {
      const nb::str where("on_wait of a feedmill reader");
      error.restore();
      EnterPython([&where] { PyErr_WriteUnraisable(where.ptr()); });
    }
  };
}

// Converts keywords of Dataset.read to ReadOptions. The package checks them and
// has the defaults.
ReadOptions MakeReadOptions(const nb::kwargs& given) {
  const auto take = [&given]<class T>(const char* name, T& out) {
    out = nb::cast<T>(given[name]);
  };
  const auto word = [&given](const char* name) {
    return nb::cast<std::string>(given[name]);
  };
  ReadOptions options;
  take("service", options.service);
  take("job", options.job.name);
  take("consumer", options.job.consumer);
  take("take_over", options.job.take_over);
  take("weight", options.job.weight);
  take("rank", options.rank.index);
  take("ranks", options.rank.count);
  options.rank.even = ValueOfWord<Even>(
      "even", word("even"),
      {{"exact", Even::kExact}, {"drop", Even::kDrop}, {"pad", Even::kPad}});
  options.rank.agree = AgreeOf(given["agree"]);
  if (nb::bytes token; nb::try_cast(given["token"], token)) {
    options.resume.token = std::string(token.c_str(), token.size());
  }
  take("skip_batches", options.resume.skip_batches);
  take("epoch", options.epoch);
  take("seed", options.seed);
  if (const nb::object first = given["first_timeout"]; !first.is_none()) {
    options.limits.first_timeout = absl::Seconds(nb::cast<double>(first));
  }
  options.limits.timeout = absl::Seconds(nb::cast<double>(given["timeout"]));
  take("budget_bytes", options.limits.budget_bytes);
  take("threads", options.limits.threads);
  options.transport.kind =
      ValueOfWord<Transport>("transport", word("transport"),
                             {{"auto", Transport::kAuto},
                              {"tcp", Transport::kTcp},
                              {"dispatcher", Transport::kRelay}});
  options.transport.compression =
      ValueOfWord<LinkCompression>("compression", word("compression"),
                                   {{"none", LinkCompression::kNone},
                                    {"lz4", LinkCompression::kLz4},
                                    {"zstd", LinkCompression::kZstd},
                                    {"auto", LinkCompression::kAuto}});
  take("cluster_id", options.cluster_id);
  take("keys", options.security.keys);
  take("server_key", options.security.server_key);
  take("allow_python", options.hooks.allow_python);
  take("python_path", options.hooks.python_path);
  options.hooks.on_wait = OnWaitOf(given["on_wait"]);
  return options;
}

Nulls NullsOf(std::string_view word) {
  return ValueOfWord<Nulls>("nulls", std::string(word),
                            {{"error", Nulls::kError},
                             {"fill", Nulls::kFill},
                             {"masked", Nulls::kMasked},
                             {"split", Nulls::kSplit}});
}

nb::bytes BytesOf(std::string_view text) {
  return nb::bytes(text.data(), text.size());
}

// Implements tp_iternext directly: a method call would double the cost of an
// element.
PyObject* NextOf(PyObject* self) noexcept {
  try {
    return nb::inst_ptr<PythonReader>(self)->NextElement();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}
PyObject* Itself(PyObject* self) noexcept {
  Py_INCREF(self);
  return self;
}

void BindPipeline(nb::module_& m) {
  nb::class_<PythonPipeline>(m, "Pipeline")
      .def_static("from_yaml", &PythonPipeline::FromYaml, "yaml"_a,
                  "directory"_a)
      .def_static("from_source", &PythonPipeline::FromSource, "name"_a,
                  "options"_a.none())
      .def_static("from_table", &PythonPipeline::FromTable, "columns"_a,
                  "rows"_a)
      .def("apply", &PythonPipeline::Apply, "name"_a, "options"_a.none())
      .def("with_options", &PythonPipeline::WithOptions, "options"_a)
      .def("in_directory", &PythonPipeline::In, "directory"_a)
      .def("to_yaml", &PythonPipeline::ToYaml)
      .def("identity", &PythonPipeline::Identity)
      .def("__getstate__", &PythonPipeline::ToState)
      .def("__setstate__",
           [](PythonPipeline& pipeline, const PythonPipeline::State& state) {
             new (&pipeline) PythonPipeline(PythonPipeline::FromState(state));
           })
      .def("parts", &PythonPipeline::Parts)
      .def_prop_ro("job", &PythonPipeline::job)
      .def_prop_ro("seed", &PythonPipeline::seed)
      .def_prop_ro("unordered", &PythonPipeline::unordered)
      .def_prop_ro("even", &PythonPipeline::even)
      .def_prop_ro("batched", &PythonPipeline::Batched)
      .def("explain", &PythonPipeline::Explain)
      .def("outline", &PythonPipeline::Outline)
      .def("provenance", &PythonPipeline::Provenance, nb::kw_only(), "number"_a,
           "epoch"_a, "seed"_a, "allow_python"_a, "python_path"_a)
      .def("element_spec", &PythonPipeline::ElementSpec)
      .def("class_names", &PythonPipeline::ClassNames)
      .def("known_spec", &PythonPipeline::KnownSpec)
      .def("first_within", &PythonPipeline::FirstWithin, "count"_a, "seconds"_a,
           nb::sig("def first_within(self, count: int, seconds: float) -> "
                   "list[object]"));
  m.def("function_names", &FunctionNames);
  m.def("function_help", &FunctionHelp, "name"_a);
  m.def("name_hint", &HintForName, "name"_a, "where"_a, "known"_a);
  m.def("short_form_hint", &ShortFormHint, "step"_a);
  m.def("foreign_names", &ForeignNames);
  m.def(
      "shown_bytes",
      [](const nb::bytes& bytes) {
        return ShownBytes({bytes.c_str(), bytes.size()});
      },
      "bytes"_a);
  m.def(
      "thumbnail",
      [](const nb::bytes& bytes, int64_t side) {
        // Width, height and the rows of RGB pixels.
        using Picture = std::tuple<int64_t, int64_t, nb::bytes>;
        const auto small = ThumbnailOf({bytes.c_str(), bytes.size()}, side);
        if (!small) return std::optional<Picture>();
        return std::optional(
            Picture(small->size.width, small->size.height,
                    nb::bytes(small->pixels.data(), small->pixels.size())));
      },
      "bytes"_a, "side"_a);
}

void BindReader(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_iter, reinterpret_cast<void*>(Itself)},
      {Py_tp_iternext, reinterpret_cast<void*>(NextOf)},
      {0, nullptr}};
  nb::class_<ReadOptions>(m, "ReadOptions").def(nb::new_(&MakeReadOptions));
  nb::class_<PythonReader>(m, "Reader", nb::type_slots(slots))
      .def(
          "__init__",
          [](PythonReader* self, const PythonPipeline& pipeline,
             ReadOptions options, std::string_view nulls, bool logical) {
            new (self) PythonReader(pipeline, std::move(options),
                                    NullsOf(nulls), logical);
          },
          "pipeline"_a, "options"_a, "nulls"_a, "logical"_a = true)
      .def(
          "next_columns",
          [](PythonReader& reader, std::optional<std::string_view> nulls) {
            return reader.NextColumns(nulls ? std::optional(NullsOf(*nulls))
                                            : std::nullopt);
          },
          "nulls"_a = nb::none())
      .def("save", [](PythonReader& reader) { return BytesOf(reader.Save()); })
      .def("spec", &PythonReader::Spec)
      .def("addresses", &PythonReader::Addresses)
      .def("close", &PythonReader::Close)
      .def_prop_ro("closed", &PythonReader::closed)
      .def_prop_ro("left", &PythonReader::left)
      .def_prop_ro("begun", &PythonReader::begun)
      .def_prop_ro("number", &PythonReader::number)
      .def_prop_ro("repeat_pass", &PythonReader::pass)
      .def_prop_ro("epoch", &PythonReader::epoch)
      .def_prop_ro("seed", &PythonReader::seed)
      .def_prop_ro("skipped", &PythonReader::skipped);
  m.def(
      "merge_tokens",
      [](const std::vector<nb::bytes>& parts) {
        std::vector<std::string> tokens;
        for (const nb::bytes& part : parts) {
          tokens.emplace_back(part.c_str(), part.size());
        }
        return BytesOf(Take(Token::Merge(tokens)));
      },
      "tokens"_a);
  m.def(
      "describe_token",
      [](const nb::bytes& token) {
        return Take(Token::Describe({token.c_str(), token.size()}));
      },
      "token"_a);
}

void BindLoader(nb::module_& m) {
  nb::class_<PythonLoader>(m, "Loader")
      .def(
          "__init__",
          [](PythonLoader* self, const PythonPipeline& pipeline,
             ReadOptions options, std::string_view nulls) {
            new (self)
                PythonLoader(pipeline, std::move(options), NullsOf(nulls));
          },
          "pipeline"_a, "options"_a, "nulls"_a)
      .def("next_epoch_reader", &PythonLoader::NextEpoch,
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("close", &PythonLoader::Close)
      .def(
          "load",
          [](PythonLoader& loader, const nb::bytes& token) {
            loader.Load({token.c_str(), token.size()});
          },
          "token"_a)
      .def("set_epoch", &PythonLoader::SetEpoch, "epoch"_a)
      .def("save", [](PythonLoader& loader) { return BytesOf(loader.Save()); })
      .def("done",
           [](PythonLoader& loader) { return loader.Call(&Loader::Done); })
      .def("size", &PythonLoader::Size)
      .def("last",
           [](PythonLoader& loader) {
             const auto last = loader.Call(&Loader::Last);
             return std::tuple(last.number, last.epoch, last.seed);
           })
      .def("next_place",
           [](const PythonLoader& loader) {
             const ReadOptions& next = loader.loader().options();
             const std::string& token = next.resume.token;
             return std::tuple(
                 token.empty() ? std::nullopt : std::optional(BytesOf(token)),
                 next.epoch, next.seed, next.resume.skip_batches);
           })
      .def_prop_ro("next_epoch",
                   [](const PythonLoader& loader) {
                     return loader.loader().next_epoch();
                   })
      .def_prop_ro("foreign", &PythonLoader::foreign);
}

void BindRegistry(nb::module_& m) {
  const auto config_of = [](std::string service, double timeout) {
    RegistryConfig config;
    config.service = std::move(service);
    config.timeout = absl::Seconds(timeout);
    return config;
  };
  m.def(
      "register_dataset",
      [config_of](const PythonPipeline& pipeline, std::string service,
                  const std::string& id, double timeout) {
        return Take(Interruptible([&] {
          return RegisterDataset(pipeline.graph(),
                                 config_of(std::move(service), timeout), id);
        }));
      },
      "pipeline"_a, "service"_a, "id"_a, "timeout"_a);
  m.def(
      "registered_pipeline",
      [config_of](std::string service, const std::string& id, double timeout) {
        return PythonPipeline(
            Take(Interruptible([&]() -> absl::StatusOr<Pipeline> {
              FM_ASSIGN_OR_RETURN(
                  const Dataset dataset,
                  DatasetFromId(id, config_of(std::move(service), timeout)));
              return ParsePipelineJson(CanonicalText(dataset.graph()));
            })));
      },
      "service"_a, "id"_a, "timeout"_a);
}

void BindServers(nb::module_& m) {
  nb::class_<Dispatcher>(m, "Dispatcher")
      .def(
          "__init__",
          [](Dispatcher* self, std::string host, uint16_t port,
             std::string work_dir, bool standby, std::string advertise,
             std::string cluster_id, std::string keys, bool insecure_bind) {
            DispatcherConfig config;
            config.endpoint.host = std::move(host);
            config.endpoint.port = port;
            config.work_dir = std::move(work_dir);
            config.standby = standby;
            config.stop_waiting = &SignalRaised;
            config.endpoint.advertise = std::move(advertise);
            config.endpoint.cluster_id = std::move(cluster_id);
            config.endpoint.security.keys = std::move(keys);
            config.endpoint.insecure_bind = insecure_bind;
            new (self) Dispatcher("dispatcher", std::move(config));
          },
          nb::kw_only(), "host"_a, "port"_a, "work_dir"_a, "standby"_a,
          "advertise"_a, "cluster_id"_a, "keys"_a, "insecure_bind"_a)
      .def("start", &Dispatcher::Start)
      .def("stop", &Dispatcher::Stop)
      .def("join", &Dispatcher::Join)
      .def("export_state",
           [](const Dispatcher& dispatcher) {
             return Take(dispatcher.server().ExportState());
           })
      .def_prop_ro("running", &Dispatcher::running)
      .def_prop_ro("target", &Dispatcher::target);
  nb::class_<Worker>(m, "Worker")
      .def(
          "__init__",
          [](Worker* self, std::string dispatcher, std::string host,
             uint16_t port, int threads, uint64_t memory_bytes,
             std::string advertise, std::string cluster_id, std::string keys,
             std::string server_key, bool insecure_bind,
             std::string allow_python, std::string python_path) {
            WorkerConfig config;
            config.dispatcher = std::move(dispatcher);
            config.endpoint.host = std::move(host);
            config.endpoint.port = port;
            config.threads = threads;
            config.memory_bytes = memory_bytes;
            config.endpoint.advertise = std::move(advertise);
            config.endpoint.cluster_id = std::move(cluster_id);
            config.endpoint.security = {std::move(keys), std::move(server_key)};
            config.endpoint.insecure_bind = insecure_bind;
            config.allow_python = std::move(allow_python);
            config.python_path = std::move(python_path);
            new (self) Worker("worker", std::move(config));
          },
          nb::kw_only(), "dispatcher"_a, "host"_a, "port"_a, "threads"_a,
          "memory_bytes"_a, "advertise"_a, "cluster_id"_a, "keys"_a,
          "server_key"_a, "insecure_bind"_a, "allow_python"_a, "python_path"_a)
      .def("start", &Worker::Start)
      .def("stop", &Worker::Stop)
      .def("join", &Worker::Join)
      .def(
          "drain",
          [](const Worker& worker, double timeout) {
            worker.server().Drain(absl::Seconds(timeout));
          },
          "timeout"_a)
      .def(
          "wait_registered",
          [](const Worker& worker, double timeout) {
            WorkerServer& server = worker.server();
            return WithoutGil([&] {
              return server.WaitRegistered(absl::Seconds(timeout)).ok();
            });
          },
          "timeout"_a)
      .def_prop_ro(
          "registered",
          [](const Worker& worker) { return worker.server().registered(); })
      .def_prop_ro("running", &Worker::running)
      .def_prop_ro("target", &Worker::target);
  nb::class_<PythonMetricsServer>(m, "MetricsServer")
      .def(
          "__init__",
          [](PythonMetricsServer* self, std::string address, bool open) {
            new (self) PythonMetricsServer({std::move(address), open});
          },
          nb::kw_only(), "address"_a, "open"_a)
      .def("stop", &PythonMetricsServer::Stop)
      .def_prop_ro("url", &PythonMetricsServer::url);
}

void SetLogLevel(const std::string& name) {
  LogLevel level = LogLevel::kWarning;
  Check(ParseLogLevel(name, level));
  SetUpLog(level, LogFormat::kText);
}

}  // namespace

NB_MODULE(_feedmill, m) {
  Check(AddStores());
  // A reader that lives as long as the interpreter is no leak to tell users of.
  nb::set_leak_warnings(false);
  m.attr("version") = FEEDMILL_VERSION;
  BindPipeline(m);
  BindReader(m);
  BindLoader(m);
  BindRegistry(m);
  BindServers(m);
  BindCluster(m);
  m.def(
      "call_with_examples",
      [](std::string interpreter, std::string modules, std::string function,
         std::string setup, double timeout, int64_t memory_bytes) {
        const ExampleCall call{std::move(function), std::move(setup), timeout,
                               memory_bytes};
        return Take(Interruptible([&] {
          return CallWithExamples({std::move(interpreter), std::move(modules)},
                                  call);
        }));
      },
      "interpreter"_a, "modules"_a, "function"_a, "setup"_a, "timeout"_a,
      "memory_bytes"_a);
  m.def("set_log_level", &SetLogLevel, "level"_a);
}

}  // namespace feedmill::python
