import AMQP
import Settings
import Store

extension ReplayOperations {
    /// Returns the reason why a replay does not progress, if it can be detected from here.
    func obstacle(of replay: ReplayRecord) async -> String? {
        replay.isCarried ? await obstacle() : await standstillReason()
    }

    /// Explains why a replay does not progress, if the cause can be detected from here.
    ///
    /// A replay is left both by a scheduler that cannot publish and by one that has ended. Only the number of consumers
    /// of the schedulers' queue tells the two cases apart, and only the broker can report it.
    package func standstillReason() async -> String {
        let running = try? await HeartbeatStore(pool: context.pool).all()
        if let silentScheduler = await silentScheduler(beside: running) { return silentScheduler }
        guard context.configuration.amqpURL != nil else {
            return "The replay is not running: no scheduler is running, or it cannot reach the broker; "
                + "bellhop status, with \(Setting.amqpURL.environmentName), tells which."
        }
        switch await schedulersQueue() {
        case .seen(nil):
            return "The replay is not running: the broker has no queue \(context.names.dead); "
                + "run bellhop topology apply."
        case .seen(let queue?) where queue.consumers == 0:
            return "The replay is not running: no scheduler is running; start one (bellhop scheduler)."
        case .seen:
            return "A scheduler is connected to the broker and has not taken the replay: bellhop status shows within "
                + "half a minute whether it hangs; otherwise, see its log."
        case .unseen(let why): return Self.waiting(because: why) + " Without the broker, schedulers cannot be counted."
        }
    }

    /// Explains that a replay waits for the broker or for a worker; `nil` if neither can be detected from here.
    ///
    /// A scheduler that has taken a replay keeps it for a while without the broker. Without a worker, its messages
    /// wait in their lanes.
    package func obstacle() async -> String? {
        let running = try? await HeartbeatStore(pool: context.pool).all()
        if let silentScheduler = await silentScheduler(beside: running) { return silentScheduler }
        if context.configuration.amqpURL != nil, let why = await schedulersQueue().obstacle {
            return Self.waiting(because: why)
        }
        guard let running, !running.isEmpty, !running.hasWorker else { return nil }
        return "Its messages wait for a worker, and none is running: start one (bellhop worker)."
    }

    /// Names the scheduler that has stopped its heartbeats while no other runs; `nil` if there is none.
    private func silentScheduler(beside running: [LiveProcess]?) async -> String? {
        let isScheduler = { (seen: LiveProcess) in seen.report.identity.role == "scheduler" }
        guard let running, !running.contains(where: isScheduler),
            let silent = try? await HeartbeatStore(pool: context.pool).silent().first(where: isScheduler)
        else { return nil }
        let own = silent.report.identity
        return "Scheduler \(own.host)[\(own.process)] has sent no heartbeat since \(silent.seenAt.toTheSecond) UTC, "
            + "and no other runs: if it still runs, end it, and start another (bellhop scheduler)."
    }

    /// Returns the counts of the queue that schedulers consume; the queue is `nil` if the broker has none.
    private func schedulersQueue() async -> Observed<QueueCounts?> {
        await .look(within: OperationsContext.brokersPatience) {
            let (broker, name) = (try context.broker(), context.names.dead)
            return try await BrokerSession.with(broker, name: "bellhop dead-letters") { try $0.checkQueue(name) }
        }
    }

    private static func waiting(because why: String) -> String {
        "It waits for the broker, which cannot be reached: \(why). A scheduler continues it when the broker is back."
    }
}
