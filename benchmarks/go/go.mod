module draguard/benchmarks

go 1.24
