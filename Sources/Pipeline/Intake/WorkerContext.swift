package import ServiceRuntime
package import Store

/// The dependencies of a worker's lanes.
package struct WorkerContext: Sendable {
    let store: any WorkerDatabase & OutletStore
    let publisher: any MessagePublisher
    let names: TopologyNames
    let senders: OutletDirectory
    let breakers: CircuitBreakers
    let policy: DeliveryPolicy
    let backlogs: Backlogs

    package init(
        store: any WorkerDatabase & OutletStore,
        publisher: any MessagePublisher,
        names: TopologyNames,
        senders: OutletDirectory,
        breakers: CircuitBreakers,
        policy: DeliveryPolicy,
        time: any TimeSource = SystemTime()
    ) {
        self.store = store
        self.publisher = publisher
        self.names = names
        self.senders = senders
        self.breakers = breakers
        self.policy = policy
        backlogs = Backlogs(time: time)
    }
}

extension WorkerContext {
    func dispatcher(_ context: PipelineContext) -> Dispatcher {
        Dispatcher(
            senders: senders,
            breakers: breakers,
            budgets: RateBudget(store: store, context: context),
            backlogs: backlogs,
            policy: policy,
            context: context
        )
    }

    func settler(_ context: PipelineContext) -> Settler {
        Settler(
            store: store,
            resumes: ResumeSender(
                publisher: publisher,
                names: names,
                time: context.time,
                chance: context.chance,
                logger: context.logger
            ),
            deadLetters: DeadLetterQueue(publisher: publisher, exchange: names.dead, context: context),
            backlogs: backlogs,
            context: context
        )
    }
}
