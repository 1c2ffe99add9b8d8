/* Mean value analysis (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing
 * networks", JACM 1980): a request that arrives finds at every station, on average, what n - 1
 * requests leave there. With the mean queues for n - 1 known, residence times for n follow, from
 * them the rate by Little's law, and from that the mean queues for n. */
#include "sim/drive/queue_model.h"

#include "base/check.h"

static const double ns_per_second = 1e9;

static void add(struct queue_network *network, double servers, double service_ns) {
    CHECK(network->count < QUEUE_CENTERS_MAX);
    if (servers > 0 && service_ns > 0) {
        network->centers[network->count++] = (struct queue_center){servers, service_ns};
    }
}

static double transfer_ns(double bytes, uint64_t bytes_per_s) {
    return bytes_per_s > 0 ? bytes / (double)bytes_per_s * ns_per_second : 0;
}

void queue_network_of(const struct queue_depth_config *config, struct queue_network *network) {
    const struct queue_drive *drive = &config->drive;
    CHECK(config->write_permille == 0);
    CHECK(config->block_bytes <= drive->page_bytes);
    double block = (double)config->block_bytes, command_ns = (double)drive->command_ps / 1000;
    double data_ns = transfer_ns(block, drive->read_bytes_per_s);
    *network = (struct queue_network){.delay_ns = (double)drive->read_delay_ps / 1000};
    add(network, config->jobs, (double)config->host_ps / 1000);
    add(network, 1, data_ns > command_ns ? data_ns : command_ns);
    add(network, (double)drive->dies * drive->planes, (double)drive->read_ps / 1000);
    add(network, drive->channels, transfer_ns(block, drive->channel_bytes_per_s));
    add(network, 1, transfer_ns(block, drive->link_bytes_per_s));
}

double queue_network_iops(const struct queue_network *network, uint32_t population) {
    double queues[QUEUE_CENTERS_MAX] = {0}, rate = 0; /* at one server; requests per ns */
    for (uint32_t n = 1; n <= population; n++) {
        double times[QUEUE_CENTERS_MAX], sum = network->delay_ns;
        for (size_t i = 0; i < network->count; i++) {
            times[i] = network->centers[i].service_ns * (1 + queues[i]);
            sum += times[i];
        }
        CHECK(sum > 0);
        rate = n / sum;
        for (size_t i = 0; i < network->count; i++) {
            queues[i] = rate * times[i] / network->centers[i].servers;
        }
    }
    return rate * ns_per_second;
}

double queue_network_limit(const struct queue_network *network, uint32_t population) {
    double sum = network->delay_ns, most = 0;
    for (size_t i = 0; i < network->count; i++) {
        const struct queue_center *center = &network->centers[i];
        double busy = center->service_ns / center->servers;
        sum += center->service_ns;
        most = busy > most ? busy : most;
    }
    CHECK(sum > 0);
    return ns_per_second * (population * most > sum ? 1 / most : population / sum);
}

double queue_balanced_iops(double servers, double service_ns, double population) {
    CHECK(servers >= 1 && service_ns > 0);
    return ns_per_second * population * servers / ((population + servers - 1) * service_ns);
}
