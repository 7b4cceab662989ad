/* child_runner: says "ready", then is another process each moment: it forks, and the child goes on. Ends after a minute. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    time_t end = time(NULL) + 60;

    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    while (time(NULL) < end)
        if (fork() > 0)
            _exit(0);
    return 0;
}
