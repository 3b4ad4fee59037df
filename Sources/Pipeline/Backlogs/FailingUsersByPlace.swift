import Store
import Synchronization

/// The users on whose rows the server fails, separately for each place of the backlogs.
///
/// Thread safety: the places are behind a lock.
final class FailingUsersByPlace: Sendable {
    private let context: PipelineContext
    private let places = Mutex<[BacklogPlace: FailingUsers]>([:])

    init(_ context: PipelineContext) {
        self.context = context
    }

    subscript(place: BacklogPlace) -> FailingUsers {
        places.withLock { places in
            if let known = places[place] { return known }
            let users = FailingUsers(
                taking: "backlogs",
                time: context.time,
                logger: context.logger,
                metrics: context.metrics.setAside
            )
            places[place] = users
            return users
        }
    }
}
