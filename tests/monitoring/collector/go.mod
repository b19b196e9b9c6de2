// The collector of the test tracing_collector. tests/monitoring/collector/build
// settles the other versions in a copy.
module feedmill.example/collector

go 1.24.0

require github.com/jaegertracing/jaeger v1.76.0

tool github.com/jaegertracing/jaeger/cmd/all-in-one
