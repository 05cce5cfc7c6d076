package import FetchRuntime

extension MetricsRegistry {
    /// How many questions were decided that no rule has decided, by their kind and who answered.
    package var questions: MetricFamily<Counter> {
        counter(
            "fetchd_questions_total", "Questions of loads that no rule decided, by who answered.", labels: "kind", "by")
    }
}
