extension CronExpression {
    /// The first time after another one, in seconds since 1970, by the clock of a time zone.
    ///
    /// Where the clock is put forward, a time that it leaves out is the moment of the change; where it is put back, a
    /// time that comes twice is the first of the two. An expression that goes on by the hour or the minute (`*` or
    /// `*/n` in either field) follows elapsed time instead: it leaves out what the clock leaves out, and repeats what
    /// that repeats.
    package func next(after time: Int64, in zone: TimeZone) -> Int64? {
        goesByElapsedTime ? nextElapsed(after: time, in: zone) : nextOnTheWall(after: time, in: zone)
    }

    private func nextOnTheWall(after time: Int64, in zone: TimeZone) -> Int64? {
        var wall = time + zone.offset(at: time) + 1
        while let match = firstMatch(from: wall) {
            let moment = zone.moment(showing: match)
            // Not when the clock shows a time for the second time.
            if moment > time { return moment }
            wall = match + 1
        }
        return nil
    }

    private func nextElapsed(after time: Int64, in zone: TimeZone) -> Int64? {
        var offset = zone.offset(at: time)
        var (time, wall) = (time, time + offset + 1)
        while let match = firstMatch(from: wall) {
            let moment = match - offset
            guard zone.offset(at: moment) != offset else { return moment }
            time = zone.change(from: offset, after: time, by: moment)
            offset = zone.offset(at: time)
            wall = time + offset
        }
        return nil
    }

    /// How many days ahead an expression is looked for: its day comes within 40 years, if it ever does.
    private static let horizon: Int64 = 41 * 366

    /// The first match from a clock time on, as seconds since 1970 if it were UTC.
    func firstMatch(from wall: Int64) -> Int64? {
        let (firstDay, second) = wall.quotientAndModulus(by: 86_400)
        // The minute that has begun is over.
        let minute = Int((second + 59) / 60)
        for day in firstDay...firstDay + Self.horizon where means(CivilDay(day)) {
            let from = day == firstDay ? minute : 0
            if let minute = firstMinute(from: from) { return day * 86_400 + Int64(minute) * 60 }
        }
        return nil
    }

    private func firstMinute(from minute: Int) -> Int? {
        (minute..<1440).first { hours.contains($0 / 60) && minutes.contains($0 % 60) }
    }

    private func means(_ date: CivilDay) -> Bool {
        guard months.contains(date.month) else { return false }
        let (isDay, isWeekday) = (days.contains(date.day), weekdays.contains(date.weekday))
        return meansEitherDay ? isDay || isWeekday : isDay && isWeekday
    }
}

extension TimeZone {
    /// The first moment when its clock shows this, or the moment of the change that leaves it out.
    fileprivate func moment(showing wall: Int64) -> Int64 {
        // No clock is changed twice within two days.
        let (before, after) = (offset(at: wall - 86_400), offset(at: wall + 86_400))
        for offset in [before, after] where self.offset(at: wall - offset) == offset { return wall - offset }
        return change(from: before, after: wall - after - 1, by: wall - before)
    }

    /// The moment when the clock left an offset that it had at one time and has no more at a later one.
    fileprivate func change(from offset: Int64, after earlier: Int64, by later: Int64) -> Int64 {
        var (earlier, later) = (earlier, later)
        while later - earlier > 1 {
            let middle = earlier + (later - earlier) / 2
            if self.offset(at: middle) == offset { earlier = middle } else { later = middle }
        }
        return later
    }
}
