/// A moment that occurs every year, in one of the three forms of POSIX.
struct YearlyMoment: Hashable {
    /// The day of the year.
    enum Day: Hashable {
        /// The form `Jn`, from 1 to 365.
        ///
        /// 29 February is never counted, so 60 is always 1 March.
        case withoutLeapDay(Int)
        /// The form `n`, from 0 to 365.
        ///
        /// 29 February is counted in leap years.
        case ofYear(Int)
        /// The form `Mm.w.d`: month 1 to 12, week 1 to 5 (5 is the last one), and a weekday from 0, Sunday.
        case ofMonth(month: Int, week: Int, weekday: Int)
    }

    /// The day.
    let day: Day
    /// Seconds from the day's midnight, at most a week before or after it.
    let time: Int

    /// Returns the moment in one year, in seconds since 1970 on the local clock.
    func seconds(in year: Int) -> Int {
        dayNumber(in: year) * 86_400 + time
    }

    private func dayNumber(in year: Int) -> Int {
        switch day {
        case .withoutLeapDay(let number):
            let leapDay = LocalDate.isLeap(year) && number >= 60 ? 1 : 0
            return LocalDate.number(year: year, month: 1, day: 1) + number - 1 + leapDay
        case .ofYear(let number):
            return LocalDate.number(year: year, month: 1, day: 1) + number
        case .ofMonth(let month, let week, let weekday):
            let first = LocalDate.number(year: year, month: month, day: 1)
            // 1970-01-01 was a Thursday, day 4 of a week from Sunday.
            let ahead = (weekday - (first + 4)).modulo(7)
            let day = ahead + (week - 1) * 7
            return first + (day < LocalDate.days(in: month, of: year) ? day : day - 7)
        }
    }
}
