package import FetchRuntime

extension MetricsRegistry {
    /// The number of questions that were decided without a rule, by their kind and their decider.
    package var questions: MetricFamily<Counter> { counter(.questions) }
}
