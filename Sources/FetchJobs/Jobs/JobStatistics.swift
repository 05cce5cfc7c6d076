/// How the jobs of a tenant are, and how they went in the last hours.
package struct JobStatistics: Sendable {
    /// The times, in seconds, that half, nine tenths and all but one in a hundred keep within.
    package struct Percentiles: Sendable, Equatable {
        package let p50: Double
        package let p90: Double
        package let p99: Double

        package init(p50: Double, p90: Double, p99: Double) {
            self.p50 = p50
            self.p90 = p90
            self.p99 = p99
        }
    }

    /// Jobs of the sample that have something in common.
    package struct Group: Sendable {
        package let jobs: Int64
        package let unsuccessful: Int64
        /// From their last start to their end; nil when none has started.
        package let duration: Percentiles?
        /// From their submission to their last start.
        package let waiting: Percentiles?

        package init(jobs: Int64, unsuccessful: Int64, duration: Percentiles?, waiting: Percentiles?) {
            self.jobs = jobs
            self.unsuccessful = unsuccessful
            self.duration = duration
            self.waiting = waiting
        }
    }

    /// The number of jobs whose times are measured: the last ones that were submitted and ended within the period.
    package static let sampleLimit = 10_000

    package let from: Timestamp
    package let to: Timestamp
    /// Jobs that are not final, now; of each state up to ``BoundedCount/limit`` are counted.
    package var current: [JobState: Int64] = [:]
    /// The latest first.
    package var hours: [EndedJobs] = []
    package var sample = Group(jobs: 0, unsuccessful: 0, duration: nil, waiting: nil)
    package var sampleByState: [JobState: Group] = [:]
    package var sampleByHour: [Timestamp: Group] = [:]
    /// By the first digit of the status of the response, of those that got one.
    package var sampleByStatusClass: [Int: Group] = [:]
    /// Those with most jobs first.
    package var sampleByHost: [(host: String, group: Group)] = []

    package init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = to
    }
}

extension JobStatistics {
    private static let ends: [JobState] = [.succeeded, .failed, .cancelled]

    package func write(_ writer: inout JSONWriter) {
        writer.member("from", from.description)
        writer.member("to", to.description)
        writer.member(
            "current",
            object: { writer in
                for state in JobState.allCases where !state.isFinal {
                    writer.member(state.rawValue, current[state] ?? 0)
                }
            })
        writer.member("ended", object: writeEnded)
        writer.member("hours", array: { writer in hours.forEach { write($0, &writer) } })
        writer.member("sample", object: sample.write)
        writer.member(
            "states",
            array: { writer in
                for state in Self.ends {
                    guard let group = sampleByState[state] else { continue }
                    writer.object { writer in
                        writer.member("state", state.rawValue)
                        group.write(&writer)
                    }
                }
            })
        writer.member(
            "statusClasses",
            array: { writer in
                for (number, group) in sampleByStatusClass.sorted(by: { $0.key < $1.key }) {
                    writer.object { writer in
                        writer.member("statusClass", StatusFilter.name(ofClassOf: number * 100))
                        group.write(&writer)
                    }
                }
            })
        writer.member(
            "hosts",
            array: { writer in
                for (host, group) in sampleByHost {
                    writer.object { writer in
                        writer.member("host", host)
                        group.write(&writer)
                    }
                }
            })
    }

    private func writeEnded(_ writer: inout JSONWriter) {
        var count: Int64 = 0
        for state in Self.ends {
            let jobs = hours.reduce(0) { $0 + ($1.jobs[state] ?? 0) }
            writer.member(state.rawValue, jobs)
            count += jobs
        }
        writer.member("bodyBytes", hours.reduce(0) { $0 + $1.bodyBytes })
        let seconds = Double(to.microseconds - from.microseconds) / 1e6
        writer.member("jobsPerSecond", seconds > 0 ? Double(count) / seconds : 0)
    }

    private func write(_ hour: EndedJobs, _ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("hour", hour.start.description)
            for state in Self.ends { writer.member(state.rawValue, hour.jobs[state] ?? 0) }
            writer.member("bodyBytes", hour.bodyBytes)
            sampleByHour[hour.start]?.writeTimes(&writer)
        }
    }
}

extension JobStatistics.Group {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("jobs", jobs)
        writer.member("unsuccessful", unsuccessful)
        writeTimes(&writer)
    }

    fileprivate func writeTimes(_ writer: inout JSONWriter) {
        for (name, times) in [("duration", duration), ("waiting", waiting)] {
            guard let times else { continue }
            writer.member(
                name,
                object: { writer in
                    writer.member("p50", times.p50)
                    writer.member("p90", times.p90)
                    writer.member("p99", times.p99)
                })
        }
    }
}
